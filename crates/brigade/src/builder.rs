//! Putting a pool together.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use brigade_sync::thread::{NewThread, Thread};

use crate::config::{
    Config, Growth, Hook, Idle, OnPanic, Order, Placement, Queueing, Shutdown, Threads, WhenFull,
};
use crate::engine::{Child, Core, Worker};
use crate::key::Key;
use crate::pool::Pool;

impl Pool {
    /// Makes a pool of `threads` threads with the default configuration. The first is started now, the others as jobs
    /// come; [`prestart`](crate::Builder::prestart) starts them all.
    ///
    /// # Panics
    /// If `threads` is not 1 to 4096 or a thread can't be started; [`builder`](Self::builder) returns an error
    /// instead.
    pub fn new(threads: usize) -> Self {
        match Self::builder().threads(threads).build() {
            Ok(pool) => pool,
            Err(error) => panic!("cannot start a pool: {error}"),
        }
    }

    /// Begins a pool of another configuration.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

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
    threads: Threads,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let config = Config::default();
        Self { threads: config.size.max.into(), config }
    }

    /// How many threads: a number, or a range. The pool keeps as many as the range begins with, its *core size*, which
    /// may be 0, and has as many as it ends with at most, which is 1 to 4096; a number is both. Default: as many
    /// as the process may run at once (affinity and, on Linux, cgroup quota), at least 1.
    ///
    /// [`build`](Self::build) starts the first, if the core size is not 0. Each submission then starts one until the core
    /// size is reached, whether others are idle or not; beyond it the pool's [`growth`](Self::growth) decides, and a
    /// thread that has been idle for [`keep_alive`](Self::keep_alive) ends.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1..=8).build()?;
    /// assert_eq!(pool.submit(|| 6 * 7).join().unwrap(), 42);
    /// assert_eq!(pool.size(), 1..=8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn threads(mut self, threads: impl Into<Threads>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Starts all threads of the core size in [`build`](Self::build). Default: only the first.
    pub fn prestart(mut self) -> Self {
        self.config.prestart = true;
        self
    }

    /// When the pool gets more threads than its core size. Default: [`Growth::OnSubmit`].
    pub fn growth(mut self, growth: Growth) -> Self {
        self.config.growth = growth;
        self
    }

    /// How long a thread beyond the core size stays idle before it ends. Default: 60 seconds.
    pub fn keep_alive(mut self, idle: Duration) -> Self {
        self.config.keep_alive = idle;
        self
    }

    /// Whether threads of the core size end too when they have been idle for that long. Default: no.
    ///
    /// With this, as with a core size of 0, a pool may come to have no thread at all. If it then can't start one either, a
    /// [`Handle`](crate::Handle) gives the job back with [`Reason::NoThread`](crate::Reason::NoThread), and the owner's own
    /// [`execute`](Pool::execute) panics.
    pub fn allow_core_timeout(mut self, allow: bool) -> Self {
        self.config.core_timeout = allow;
        self
    }

    /// How many threads there may be on top of the largest size, each in place of one that is
    /// [blocked](crate::blocking). Default: as many as that size, so that all of them may be blocked at once. With 0 a
    /// blocked thread is missing until it goes on.
    pub fn spare_threads(mut self, threads: usize) -> Self {
        self.config.spare = Some(threads);
        self
    }

    /// What starts the threads, for those who want to do more with them; it must start the thread it is given, or say
    /// why not. Default: [`NewThread::start`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static STARTED: AtomicU32 = AtomicU32::new(0);
    /// let pool = brigade::Pool::builder()
    ///     .threads(2)
    ///     .prestart()
    ///     .spawner(|thread| {
    ///         STARTED.fetch_add(1, Ordering::Relaxed);
    ///         thread.start()
    ///     })
    ///     .build()?;
    /// assert_eq!(STARTED.load(Ordering::Relaxed), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawner(
        mut self,
        spawner: impl Fn(NewThread) -> io::Result<Thread> + Send + Sync + 'static,
    ) -> Self {
        self.config.spawner = Arc::new(spawner);
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

    /// How many jobs may be queued at most, at least 1: accepted, and not started. Default: any number.
    ///
    /// Exact, wherever they are queued and whoever submits them, the pool's own jobs included. A job that starts, is
    /// cancelled or is dropped makes room at once. What becomes of a job for which there is none is
    /// [`when_full`](Self::when_full); those of a [`TaskSet`](crate::TaskSet) wait in the set. A closure in the queue of
    /// such a pool is kept without an allocation if its captures have at most 16 bytes.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let pool = brigade::Pool::builder().threads(1).capacity(1).build()?;
    /// let ((started, starts), (go, wait)) = (mpsc::channel(), mpsc::channel::<()>());
    /// pool.execute(move || {
    ///     started.send(()).unwrap();
    ///     wait.recv().unwrap();
    /// });
    /// starts.recv().unwrap(); // It runs, so it is not queued any more.
    /// pool.try_execute(|| ()).unwrap();
    /// assert_eq!(pool.try_execute(|| ()).unwrap_err().reason(), brigade::Reason::Full);
    /// go.send(()).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn capacity(mut self, jobs: usize) -> Self {
        self.config.capacity = Some(jobs);
        self
    }

    /// What becomes of a job for which there is no room. Default: [`WhenFull::Reject`]. Of no effect without a
    /// [`capacity`](Self::capacity).
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.config.when_full = policy;
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

    /// Names each thread by its index. Default: `brigade-{index}`. Linux shows the first 15 bytes.
    ///
    /// Indices count from 0; one whose thread has ended is used again. A name that contains NUL is an error of
    /// [`build`](Self::build) for a thread of the core size; for one beyond it the name ends there.
    pub fn name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.config.name = Some(Arc::new(name));
        self
    }

    /// The stack of each thread, in bytes. Default: that of the standard library (2 MiB, or `RUST_MIN_STACK`).
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Called on each thread before its first job, with the worker's index. A panic is counted and contained.
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_start = Some(Arc::new(hook) as Hook);
        self
    }

    /// Called on each thread after its last job, with the worker's index: when the pool ends, which is closed by then, or
    /// earlier if the thread has been idle for too long or is one too many. A panic is counted and contained.
    pub fn on_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_stop = Some(Arc::new(hook) as Hook);
        self
    }

    /// What happens when a job panics and nobody holds a handle for it. Default: [`OnPanic::Report`].
    pub fn on_panic(mut self, policy: OnPanic) -> Self {
        self.config.on_panic = policy;
        self
    }

    /// Starts the first thread, or all of the core size if [`prestart`](Self::prestart) was asked for.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a number of threads that no pool can have, an injector interval of 0, a
    /// capacity of 0, a stack that is larger than the address space, or a name that contains NUL. Else what the system said when a
    /// thread could not be started. No thread is left in any case.
    pub fn build(mut self) -> io::Result<Pool> {
        self.check()?;
        let prestart = if self.config.prestart { usize::MAX } else { 1 };
        let key = Key::new::<Child>(self.config.capacity.is_some())?;
        let core = Core::new(key, self.config, Worker::live);
        if let Err(error) = core.start_core(prestart) {
            core.close(Shutdown::Discard);
            core.wait_for_end(None);
            return Err(error);
        }
        Ok(Pool::from_core(core))
    }

    /// Refuses what cannot be built, and settles the size.
    fn check(&mut self) -> io::Result<()> {
        let refusal = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, reason);
        let refuse = |reason: String| Err(refusal(reason));
        let threads = self.threads.check().map_err(refusal)?;
        self.config.size = self.config.size_of(threads);
        if self.config.injector_interval == 0 {
            return refuse("the injector interval is at least 1".into());
        }
        if self.config.capacity == Some(0) {
            return refuse("the capacity of a pool's queue is at least 1".into());
        }
        // Half the address space: no system gives that much, and std's rounding up must not overflow.
        if self.config.stack_size.is_some_and(|bytes| bytes > usize::MAX / 2) {
            return refuse("the stack size is larger than the address space".into());
        }
        match (0..threads.core).find(|&index| self.config.thread_name(index).contains('\0')) {
            Some(index) => refuse(format!("the name of thread {index} contains NUL")),
            None => Ok(()),
        }
    }
}

impl core::fmt::Debug for Builder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Builder").field("threads", &self.threads).finish_non_exhaustive()
    }
}
