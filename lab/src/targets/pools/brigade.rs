//! brigade: one implementation, and a configuration as a value.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use brigade::{
    Builder, Cpus, Fairness, Handle, Idle, JobBuilder, Order, Placement, Pool as Inner, Priority,
    Queueing, Tracing, Victims,
};

use crate::target::pool::{FEW, KEEP_ALIVE, MANY, Pool, Start, StartSized, Submit};
use crate::target::{Entry, Listing};
use crate::trace;

/// The default pool, except for what is configured: a line of the table each.
macro_rules! policies {
    ($($(#[$doc:meta])* $row:ident $name:literal, $about:literal, |$builder:ident| $with:expr;)+) => {
        $(
            $(#[$doc])*
            pub(crate) const $row: Listing<Start<Brigade>> = Listing {
                entry: Entry::own($name, $about).further(),
                start: |n| {
                    let $builder = of(n);
                    built($with)
                },
            };
        )+
    };
}

pub(crate) const DEFAULT: Listing<Start<Brigade>> =
    Listing { entry: Entry::own("brigade", "the default pool"), start: |n| built(of(n)) };

policies! {
    FIFO "brigade-fifo", "local queues oldest first", |b| b.order(Order::Fifo);
    LIFO "brigade-lifo", "local queues newest first", |b| b.order(Order::Lifo);
    SHARED "brigade-shared", "one shared queue", |b| b.queueing(Queueing::Shared);
    PARK "brigade-park", "idle workers park at once", |b| b.idle(Idle::Park);
    SPIN_10_US "brigade-spin10us", "idle workers spin 10 µs, then park",
        |b| b.idle(Idle::SpinThenPark(Duration::from_micros(10)));
    SPIN "brigade-spin", "idle workers never park", |b| b.idle(Idle::Spin);
    KERNEL "brigade-kernel", "the kernel places woken workers", |b| b.placement(Placement::Kernel);
    SPREAD "brigade-spread", "woken workers are spread over the CPUs", |b| b.placement(Placement::Spread);
    SHARED_KERNEL "brigade-shared-kernel", "one shared queue, the kernel places woken workers",
        |b| b.queueing(Queueing::Shared).placement(Placement::Kernel);
    SHARED_SPREAD "brigade-shared-spread", "one shared queue, woken workers are spread",
        |b| b.queueing(Queueing::Shared).placement(Placement::Spread);
    INTERVAL "brigade-interval", "workers look at the shared queue every ms, not every 61 jobs",
        |b| b.fairness(Fairness::Interval(Duration::from_millis(1)));
    BOUNDED "brigade-bounded", "a queue of 1,000 tasks, for which submitters wait", |b| b.capacity(1000);
    PINNED "brigade-pinned", "each worker on a core of its own", |b| b.pin(Cpus::cores());
    /// On one node, where all CPUs are equally near, the same as the one before.
    NEAREST "brigade-nearest", "the same, and thieves try their neighbours first",
        |b| b.pin(Cpus::cores()).victims(Victims::Nearest);
    OBSERVED "brigade-observed", "what runs is known, for a dump", |b| b.observe_jobs();
    OUTCOMES "brigade-outcomes", "a hook is told how each task ends",
        |b| b.on_outcome(|outcome| _ = black_box(outcome.end));
    STALLS "brigade-stalls", "a thread looks for tasks that run for 100 ms",
        |b| b.on_stall(Duration::from_millis(100), |stall| _ = black_box(stall.ran));
    #[cfg(feature = "full")]
    HISTOGRAMS "brigade-histograms", "waiting and running times are recorded", |b| b.histograms();
    #[cfg(feature = "full")]
    TRACING "brigade-tracing", "a span for each task, without a subscriber", |b| b.trace_jobs();
}

/// For `fairness`: what comes from outside has the class, what jobs submit is normal.
pub(crate) const HIGH: Listing<Start<Rare>> = Listing {
    entry: Entry::own("brigade-high", "high jobs from outside").further(),
    start: |n| rare(n, |job| job.priority(Priority::High), |job| job.priority(Priority::Normal)),
};
/// The same with the other class.
pub(crate) const LOW: Listing<Start<Rare>> = Listing {
    entry: Entry::own("brigade-low", "low jobs from outside").further(),
    start: |n| rare(n, |job| job.priority(Priority::Low), |job| job.priority(Priority::Normal)),
};
pub(crate) const NAMED: Listing<Start<Rare>> = Listing {
    entry: Entry::own("brigade-named", "tasks with a name").further(),
    start: |n| rare(n, |job| job.name("task"), |job| job.name("task")),
};
/// For `trace`, which traces the pool, without a second trace.
pub(crate) const TRACE: Listing<Start<Traced>> = Listing {
    entry: Entry::own("brigade-trace", "a trace of what the threads do is recorded").further(),
    start: |n| {
        let pool = built(of(n))?;
        Ok(Traced { _trace: pool.0.start_trace().ok(), pool })
    },
};

/// As many threads as requested; all but the first start when there is work for them.
pub(crate) const ELASTIC: Listing<Start<Brigade>> = Listing {
    entry: Entry::own("brigade-elastic", "threads but the first are started by tasks")
        .further()
        .cold(),
    start: |n| built(Inner::builder().threads(n..=n).keep_alive(KEEP_ALIVE)),
};

/// From [`FEW`] threads to [`MANY`], or to as many as requested if that is more.
pub(crate) const ELASTIC_50: Listing<Start<Brigade>> = Listing {
    entry: Entry::own("brigade-elastic-50", "the same, with 2 to 50 threads or more")
        .further()
        .cold()
        .with_threads(|threads, _| threads + MANY as u64),
    start: |n| built(Inner::builder().threads(FEW..=n.max(MANY)).keep_alive(KEEP_ALIVE)),
};

/// The default pool, except for its size.
pub(crate) const SIZED: Listing<StartSized<Brigade>> = Listing {
    entry: Entry::own("brigade", "the default pool"),
    start: |size| built(Inner::builder().threads(size.core..=size.max).keep_alive(size.keep_alive)),
};

/// The same, which does not grow: one thread at least.
pub(crate) const SIZED_FIXED: Listing<StartSized<Brigade>> = Listing {
    entry: Entry::own("brigade-fixed", "a pool of the core size, or one thread").further(),
    start: |size| built(of(size.core.max(1))),
};

/// The default pool with this many threads.
fn of(threads: usize) -> Builder {
    Inner::builder().threads(threads)
}

/// Starts what is configured.
fn built(builder: Builder) -> io::Result<Brigade> {
    trace::build(builder).map(|pool| Brigade(Arc::new(pool)))
}

/// A brigade pool.
pub(crate) struct Brigade(Arc<Inner>);

impl Pool for Brigade {
    type Outside = Owner;
    type Inside = Handle;

    fn outside(&self) -> Owner {
        Owner(Arc::clone(&self.0))
    }

    fn inside(&self) -> Handle {
        self.0.handle()
    }

    // The last owner drains and joins; the submitting threads have gone.
}

/// The pool's owner, shared by the submitting threads.
#[derive(Clone)]
pub(crate) struct Owner(Arc<Inner>);

impl Submit for Owner {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.0.execute(job);
    }
}

impl Submit for Handle {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.execute(job);
    }
}

/// A brigade pool, and its trace, which is dropped after its end.
pub(crate) struct Traced {
    pool: Brigade,
    _trace: Option<Tracing>,
}

impl Pool for Traced {
    type Outside = Owner;
    type Inside = Handle;

    fn outside(&self) -> Owner {
        self.pool.outside()
    }

    fn inside(&self) -> Handle {
        self.pool.inside()
    }
}

/// What a submission sets.
type Set = fn(JobBuilder) -> JobBuilder;

/// Starts the default pool for submissions from outside and by jobs that set this.
fn rare(threads: usize, outside: Set, inside: Set) -> io::Result<Rare> {
    trace::build(of(threads)).map(|pool| Rare { pool, outside, inside })
}

/// A brigade pool with the rare forms of submission.
pub(crate) struct Rare {
    pool: Inner,
    outside: Set,
    inside: Set,
}

impl Pool for Rare {
    type Outside = Submits;
    type Inside = Submits;

    fn outside(&self) -> Submits {
        Submits(self.pool.handle(), self.outside)
    }

    fn inside(&self) -> Submits {
        Submits(self.pool.handle(), self.inside)
    }
}

/// Submits jobs for which something is set.
#[derive(Clone)]
pub(crate) struct Submits(Handle, Set);

impl Submit for Submits {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        let Self(pool, set) = self;
        // As `execute` does; the tally detects what is dropped.
        drop(set(pool.job()).execute(job));
    }
}
