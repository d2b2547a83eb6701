//! Putting a pool together.

use std::io;
use std::sync::Arc;

use brigade_sync::thread::Thread;

use crate::config::{Config, Hook, Idle, MAX_THREADS, OnPanic, Order, Placement, Queueing};
use crate::engine::{Core, Worker};
use crate::pool::Pool;
use crate::registry;

/// Makes a [`Pool`] that differs from the default in what is said here.
///
/// ```
/// use brigade::{Idle, Order, Pool};
/// use std::time::Duration;
/// let pool = Pool::builder()
///     .threads(2)
///     .order(Order::Lifo)
///     .idle(Idle::SpinThenPark(Duration::from_micros(10)))
///     .name(|index| format!("render-{index}"))
///     .build()?;
/// let name = pool.submit(|| std::thread::current().name().map(String::from));
/// assert!(name.join().unwrap().unwrap().starts_with("render-"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a builder makes nothing until `build`"]
pub struct Builder {
    config: Config,
    name: Option<Name>,
    stack_size: Option<usize>,
}

/// A worker's name, by its index.
type Name = Arc<dyn Fn(usize) -> String + Send + Sync>;

impl Builder {
    pub(crate) fn new() -> Self {
        Self { config: Config::default(), name: None, stack_size: None }
    }

    /// How many threads, 1 to 4096. Default: as many as the process may run at once (affinity and, on Linux,
    /// cgroup quota), at least 1.
    pub fn threads(mut self, threads: usize) -> Self {
        self.config.threads = threads;
        self
    }

    /// Where jobs wait that a worker submits. Default: [`Queueing::Stealing`].
    pub fn queueing(mut self, queueing: Queueing) -> Self {
        self.config.queueing = queueing;
        self
    }

    /// Which of its own jobs a worker runs first. Default: [`Order::Fifo`]. Of no effect with
    /// [`Queueing::Shared`].
    pub fn order(mut self, order: Order) -> Self {
        self.config.order = order;
        self
    }

    /// After how many jobs of its own queue a worker takes one that has waited longest, first from outside,
    /// else of its own; at least 1. Default: 61.
    pub fn injector_interval(mut self, jobs: u32) -> Self {
        self.config.injector_interval = jobs;
        self
    }

    /// What a worker does when there is nothing to do. Default: [`Idle::Park`].
    pub fn idle(mut self, idle: Idle) -> Self {
        self.config.idle = idle;
        self
    }

    /// On which CPU a woken worker lands. Default: [`Placement::Spread`].
    pub fn placement(mut self, placement: Placement) -> Self {
        self.config.placement = placement;
        self
    }

    /// Names each thread by its index, 0 to `threads - 1`. Default: `brigade-{index}`. Must not contain NUL;
    /// Linux shows the first 15 bytes.
    pub fn name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.name = Some(Arc::new(name));
        self
    }

    /// The stack of each thread, in bytes. Default: that of the standard library (2 MiB, or `RUST_MIN_STACK`).
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Called on each thread before its first job, with the worker's index. A panic is counted and contained.
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_start = Some(Arc::new(hook) as Hook);
        self
    }

    /// Called on each thread after its last job, with the worker's index. The pool is closed by then. A panic
    /// is counted and contained.
    pub fn on_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_stop = Some(Arc::new(hook) as Hook);
        self
    }

    /// What happens when a job panics and nobody holds a handle for it. Default: [`OnPanic::Report`].
    pub fn on_panic(mut self, policy: OnPanic) -> Self {
        self.config.on_panic = policy;
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a number of threads that is not 1 to 4096, an injector interval
    /// of 0, a stack that is larger than the address space, or a name that contains NUL. Else what the
    /// system said when a thread could not be started. No thread is left in any case.
    pub fn build(self) -> io::Result<Pool> {
        let names = self.check()?;
        let (core, locals) = Core::new(registry::new_key(), self.config);
        let core = Arc::new(core);
        let mut threads = Vec::with_capacity(locals.len());
        for (index, (local, name)) in locals.into_iter().zip(names).enumerate() {
            let shared = core.clone();
            let main = move || Worker::live(shared, index, local);
            match Thread::start(name, self.stack_size, main) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    core.abandon(index);
                    threads.into_iter().for_each(Thread::join);
                    return Err(error);
                }
            }
        }
        registry::enter(&core);
        Ok(Pool::from_parts(core, threads))
    }

    /// Refuses what cannot be built; returns the threads' names.
    fn check(&self) -> io::Result<Vec<String>> {
        let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        let threads = self.config.threads;
        if !(1..=MAX_THREADS).contains(&threads) {
            return refuse(format!("a pool has 1 to {MAX_THREADS} threads, not {threads}"));
        }
        if self.config.injector_interval == 0 {
            return refuse("the injector interval is at least 1".into());
        }
        // Half the address space: no system gives that much, and std's rounding up must not overflow.
        if self.stack_size.is_some_and(|bytes| bytes > usize::MAX / 2) {
            return refuse("the stack size is larger than the address space".into());
        }
        let name = |index| match &self.name {
            Some(name) => name(index),
            None => format!("brigade-{index}"),
        };
        let names: Vec<_> = (0..threads).map(name).collect();
        match names.iter().position(|name| name.contains('\0')) {
            Some(index) => refuse(format!("the name of thread {index} contains NUL")),
            None => Ok(names),
        }
    }
}

impl core::fmt::Debug for Builder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Builder").field("threads", &self.config.threads).finish_non_exhaustive()
    }
}
