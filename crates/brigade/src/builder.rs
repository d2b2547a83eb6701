//! Configuring and building a pool.

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

    /// Configures a pool that differs from the default.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

/// Configures and builds a [`Pool`]; what is not set has its default.
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

    /// Sets how many threads the pool has: a number, or a range. The pool keeps as many as the range begins with, its *core
    /// size*, which may be 0. It has at most as many as the range ends with, 1 to 4096. A number is both. Default: as many as
    /// the process may run at once (affinity and, on Linux, cgroup quota), at least 1.
    ///
    /// [`build`](Self::build) starts the first, if the core size is not 0. Each submission then starts one until the core
    /// size is reached, whether others are idle or not. Beyond it the pool's [`growth`](Self::growth) decides, and a thread
    /// that has been idle for [`keep_alive`](Self::keep_alive) ends.
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

    /// Sets when the pool gets more threads than its core size. Default: [`Growth::OnSubmit`].
    pub fn growth(mut self, growth: Growth) -> Self {
        self.config.growth = growth;
        self
    }

    /// Sets how long a thread beyond the core size stays idle before it ends. Default: 60 seconds.
    pub fn keep_alive(mut self, idle: Duration) -> Self {
        self.config.keep_alive = idle;
        self
    }

    /// Sets whether threads of the core size also end when they have been idle for [`keep_alive`](Self::keep_alive). Default:
    /// no.
    ///
    /// With this, as with a core size of 0, a pool may come to have no thread at all. If it then can't start one, a
    /// [`Handle`](crate::Handle) returns the job with [`Reason::NoThread`](crate::Reason::NoThread), and [`Pool::execute`]
    /// panics.
    pub fn allow_core_timeout(mut self, allow: bool) -> Self {
        self.config.core_timeout = allow;
        self
    }

    /// Sets how many threads there may be beyond the largest size, each in place of one that is [blocked](crate::blocking).
    /// Default: as many as that size, so that all of them may be blocked at once. With 0 a blocked thread is not replaced.
    pub fn spare_threads(mut self, threads: usize) -> Self {
        self.config.spare = Some(threads);
        self
    }

    /// Sets the function that starts the threads. It must start the thread it is given, or return the error that prevented
    /// it. Default: [`NewThread::start`].
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

    /// Sets where jobs wait that a worker submits. Default: [`Queueing::Stealing`].
    pub fn queueing(mut self, queueing: Queueing) -> Self {
        self.config.queueing = queueing;
        self
    }

    /// Sets which of its own jobs a worker runs first. Default: [`Order::Fifo`]. Has no effect with [`Queueing::Shared`].
    pub fn order(mut self, order: Order) -> Self {
        self.config.order = order;
        self
    }

    /// Sets after how many jobs of its own queue a worker takes the one that has waited longest: one from outside if there is
    /// one, else one of its own. At least 1. Default: 61.
    pub fn injector_interval(mut self, jobs: u32) -> Self {
        self.config.injector_interval = jobs;
        self
    }

    /// Sets how many jobs may be queued at most, that is, accepted and not started; at least 1. Default: any number.
    ///
    /// The limit is exact, wherever jobs are queued and from where they are submitted, the pool's own jobs included. A job
    /// that starts, is cancelled or is dropped makes room at once. [`when_full`](Self::when_full) sets what happens to a job
    /// for which there is no room; those of a [`TaskSet`](crate::TaskSet) wait in the set. A closure in the queue of such a
    /// pool needs no allocation if its captures have at most 16 bytes.
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

    /// Sets what happens to a job for which there is no room. Default: [`WhenFull::Reject`]. Has no effect without a
    /// [`capacity`](Self::capacity).
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.config.when_full = policy;
        self
    }

    /// Sets what a worker does when there is nothing to do. Default: [`Idle::Park`].
    pub fn idle(mut self, idle: Idle) -> Self {
        self.config.idle = idle;
        self
    }

    /// Sets on which CPU a woken worker runs. Default: [`Placement::Spread`].
    pub fn placement(mut self, placement: Placement) -> Self {
        self.config.placement = placement;
        self
    }

    /// Names each thread by its index. Default: `brigade-{index}`. Linux shows the first 15 bytes.
    ///
    /// Indices count from 0; one whose thread has ended is used again. For a thread of the core size, a name that contains
    /// NUL is an error of [`build`](Self::build); for a thread beyond it, the name ends at the NUL.
    pub fn name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.config.name = Some(Arc::new(name));
        self
    }

    /// Sets the stack size of each thread, in bytes. Default: that of the standard library (2 MiB, or `RUST_MIN_STACK`).
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Sets a hook that each thread calls before its first job, with the worker's index. A panic is counted and contained.
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_start = Some(Arc::new(hook) as Hook);
        self
    }

    /// Sets a hook that each thread calls after its last job, with the worker's index. That is when the pool, closed by then,
    /// ends, or earlier if the thread has been idle for too long or is surplus. A panic is counted and contained.
    pub fn on_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_stop = Some(Arc::new(hook) as Hook);
        self
    }

    /// Sets what happens when a job panics and has no handle. Default: [`OnPanic::Report`].
    pub fn on_panic(mut self, policy: OnPanic) -> Self {
        self.config.on_panic = policy;
        self
    }

    /// Builds the pool and starts its first thread, or all of the core size with [`prestart`](Self::prestart).
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a number of threads that no pool can have, an injector interval or capacity of 0,
    /// a stack larger than the address space, or a name with NUL. The error of the system if a thread could not be started.
    /// No thread is left in any case.
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

    /// Rejects a configuration that can't be built, and sets the size.
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
