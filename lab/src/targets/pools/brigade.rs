//! brigade: one implementation, and a configuration as a value.

use std::io;
use std::sync::Arc;

use brigade::{Builder, Handle, JobBuilder, Pool as Inner, Tracing};

use crate::target::pool::{Pool, Size, Submit};

/// Starts the default pool, except for what `set` sets.
pub(super) fn with(threads: usize, set: fn(Builder) -> Builder) -> io::Result<Brigade> {
    built(set(Inner::builder().threads(threads)))
}

/// Starts a pool that grows from one number of threads to another.
pub(super) fn sized(size: Size) -> io::Result<Brigade> {
    built(Inner::builder().threads(size.core..=size.max).keep_alive(size.keep_alive))
}

/// Starts a configured pool.
fn built(builder: Builder) -> io::Result<Brigade> {
    builder.build().map(|pool| Brigade(Arc::new(pool)))
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

/// Starts the default pool with a trace.
pub(super) fn traced(threads: usize) -> io::Result<Traced> {
    let pool = with(threads, |b| b)?;
    Ok(Traced { _trace: pool.0.start_trace().ok(), pool })
}

/// What a submission sets.
type Set = fn(JobBuilder) -> JobBuilder;

/// Starts the default pool for submissions from outside and by jobs that set this.
pub(super) fn rare(threads: usize, outside: Set, inside: Set) -> io::Result<Rare> {
    Inner::builder().threads(threads).build().map(|pool| Rare { pool, outside, inside })
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
