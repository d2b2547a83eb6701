//! Configuring and building a pool. This module must not know futures.

mod machine;
#[cfg(feature = "observe")]
mod observing;
#[cfg(feature = "affinity")]
mod pinning;
mod placing;
mod sizing;
mod thread_name;

use std::io;
use std::sync::Arc;

use brigade_sync::thread::Inherited;

use crate::engine::{
    Child, Key, Kind, Semaphore, Shared, Worker, driven_pools, resources_of, wait_until,
};
use crate::handle::Handle;
use crate::pool::Pool;
use crate::submission::{ADMIT, admit_bounded};
use crate::values::{
    Config, Hook, Idle, Observer, OnPanic, Order, Queueing, Settings, Shutdown, ShutdownOptions,
    Threads, WhenFull, opaque,
};
use machine::{Machine, invalid};

pub use thread_name::ThreadName;

impl Pool {
    /// Creates a pool of `threads` threads with the default configuration.
    ///
    /// The first thread is started now, the others as jobs are submitted; [`prestart`](crate::Builder::prestart)
    /// starts all threads.
    ///
    /// # Panics
    /// If `threads` is not 1 to 4096, or a thread can't be started; [`builder`](Self::builder) returns an error
    /// instead.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(4);
    /// assert_eq!(pool.submit(|| 6 * 7).join()?, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn new(threads: usize) -> Self {
        match Self::builder().threads(threads).build() {
            Ok(pool) => pool,
            Err(error) => panic!("cannot start a pool: {error}"),
        }
    }

    /// Returns a builder with the default configuration.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(2..=8).name("worker").build()?;
    /// assert_eq!(pool.size(), 2..=8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder {
            config: Box::default(),
            threads: None,
            prefix: None,
            machine: Machine::default(),
            observe: Settings::default(),
            make_observer: None,
            capacity: None,
        }
    }
}

/// A pool with the default configuration: as many threads as the process may run at once.
///
/// # Panics
/// If a thread can't be started.
impl Default for Pool {
    #[track_caller]
    fn default() -> Self {
        match Self::builder().build() {
            Ok(pool) => pool,
            Err(error) => panic!("cannot start a pool: {error}"),
        }
    }
}

/// Configures and builds a [`Pool`]. Every setting has a default.
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
/// assert!(name.join()?.is_some_and(|name| name.starts_with("render-")));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a builder makes nothing until `build`"]
#[doc(alias = "ThreadPoolBuilder")]
pub struct Builder {
    /// Boxed, because a pool may be built on a small stack, and a builder is moved at each call.
    pub(crate) config: Box<Config>,
    /// `None` for as many as the process may run at once.
    threads: Option<Threads>,
    /// The common prefix of the threads' names, if known: the name of a pool without another.
    prefix: Option<Arc<str>>,
    /// The settings that depend on the machine.
    pub(crate) machine: Machine,
    /// The settings for observing jobs.
    pub(crate) observe: Settings,
    /// Makes the observer, if needed: a program that observes no pool does not contain the observer.
    pub(crate) make_observer: Option<MakeObserver>,
    /// The limit of queued jobs; `None` for no limit.
    capacity: Option<usize>,
}

/// Makes the observer of a pool with this name and key.
type MakeObserver = fn(Settings, Arc<str>, Key) -> Arc<Observer>;

impl Builder {
    /// Sets the number of threads. A number fixes the size. A range `core..=max` lets the pool keep at least `core`
    /// threads, its *core size*, which may be 0, and grow to `max`, which is 1 to 4096.
    ///
    /// For users of a program, the environment variable `BRIGADE_THREADS` replaces the default: a fixed number of threads,
    /// or 0 for the default. It has no effect on a pool whose size is set here.
    ///
    /// [`build`](Self::build) starts the first thread, unless the core size is 0 or [`prestart`](Self::prestart) sets
    /// another number. Each submission then starts a thread until the core size is reached, whether or not others are
    /// idle. Beyond that, the pool's [`growth`](Self::growth) decides, and a thread that has been idle for
    /// [`keep_alive`](Self::keep_alive) ends.
    ///
    /// Forks, jobs that a job of a [`scope`](crate::scope()) adds, and parallel loops start threads up to the core size, and in place of
    /// blocked threads, but none beyond it: a fork takes nanoseconds, and most have ended long before a thread could have started for
    /// them. For recursions and loops, set the core size to the number of CPUs; where some cores are slower, to that of the
    /// fast ones: `Cpus::performance`, with the feature `affinity`, counts them.
    ///
    /// While any pool is busy the process has another thread, `brigade-monitor`. It wakes an idle thread for a job that waits behind a long job
    /// for more than a millisecond.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1..=8).build()?;
    /// assert_eq!(pool.submit(|| 6 * 7).join()?, 42);
    /// assert_eq!(pool.size(), 1..=8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "num_threads")]
    #[doc(alias = "worker_threads")]
    #[doc(alias = "core_size")]
    #[doc(alias = "max_size")]
    pub fn threads(mut self, threads: impl Into<Threads>) -> Self {
        self.threads = Some(threads.into());
        self
    }

    /// Sets which queue takes the jobs submitted by a worker. Default: [`Queueing::Stealing`].
    ///
    /// ```
    /// use brigade::{Pool, Queueing};
    /// let pool = Pool::builder().threads(2).queueing(Queueing::Shared).build()?;
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn queueing(mut self, queueing: Queueing) -> Self {
        self.config.queueing = queueing;
        self
    }

    /// Sets which job of its own queue a worker runs first. Default: [`Order::Fifo`]. Has no effect with
    /// [`Queueing::Shared`].
    ///
    /// ```
    /// use brigade::{Order, Pool};
    /// let pool = Pool::builder().threads(2).order(Order::Lifo).build()?;
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn order(mut self, order: Order) -> Self {
        self.config.order = order;
        self
    }

    /// Sets after how many jobs of its own queue a worker takes the oldest waiting job, at least 1: a job from outside,
    /// or else the oldest job of its queue. It checks timers and I/O at the same time. Default: 61. It does so after
    /// about 100 µs in any case, once it has run 16 jobs since it last slept.
    ///
    /// ```
    /// use brigade::Pool;
    /// let pool = Pool::builder().threads(2).fairness(8).build()?;
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "global_queue_interval")]
    pub fn fairness(mut self, jobs: u32) -> Self {
        self.config.fairness = Some(jobs);
        self
    }

    /// Limits how many jobs may be queued, that is, accepted but not started; at least 1. Default: no limit.
    ///
    /// The limit is exact. It covers all queues of the pool and all submissions, including those of the pool's own
    /// jobs. A job that starts, is cancelled or is dropped makes room at once. [`when_full`](Self::when_full) sets
    /// what happens to a job that finds no room; jobs of a [`TaskSet`](crate::TaskSet) are queued. Borrowing work
    /// takes no room, because a thread waits for it: forks, [installed](crate::Handle::install) calls, closures and
    /// futures of a [`Scope`](crate::Scope).
    ///
    /// **Allocations.** In a bounded pool [`execute`](crate::Handle::execute) allocates once for a closure with captures,
    /// however small. [`submit`](crate::Handle::submit) and [`spawn`](crate::Handle::spawn) allocate twice.
    ///
    /// **Beyond the capacity.** A job of the pool that submits to the full pool never waits. If the policy would
    /// [wait](WhenFull::Block) or [run the job](WhenFull::RunInCaller), the new job is queued without room. So the
    /// queues exceed the capacity by jobs of sets, by jobs that running jobs submit to the full pool, and by no
    /// other jobs. To bound these jobs too, running jobs can use [`WhenFull::Reject`], and a set a
    /// [limit](crate::TaskSet::limit). A policy that [drops the oldest](WhenFull::DropOldest) job also drops older
    /// jobs queued without room.
    ///
    /// **Pools that submit to each other.** A job that submits to a different pool that is full waits for room as in any
    /// wait: other threads of its own pool, or at last this thread inside the wait, run queued jobs meanwhile. So jobs of
    /// two full pools that submit to each other make room for each other.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let pool = brigade::Pool::builder().threads(1).capacity(1).build()?;
    /// let ((started, starts), (go, wait)) = (mpsc::channel(), mpsc::channel::<()>());
    /// pool.execute(move || {
    ///     _ = started.send(());
    ///     _ = wait.recv();
    /// });
    /// starts.recv()?; // It runs, so it is no longer queued.
    /// pool.try_execute(|| ())?;
    /// assert_eq!(pool.try_execute(|| ()).unwrap_err().reason(), brigade::Reason::Full);
    /// drop(go);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "bounded")]
    #[doc(alias = "queue_size")]
    pub fn capacity(mut self, jobs: usize) -> Self {
        ADMIT.get_or_init(|| admit_bounded);
        self.capacity = Some(jobs);
        self
    }

    // Rustc alone suggests `queueing`.
    #[doc(hidden)]
    #[deprecated(note = "here this is `capacity`")]
    pub fn queue_size(self, jobs: usize) -> Self {
        self.capacity(jobs)
    }

    /// Sets what happens to a job that finds no room. Default: [`WhenFull::Block`], which makes the submitting
    /// thread wait. Has no effect without a [`capacity`](Self::capacity).
    ///
    /// A future that submits to another pool would make its worker wait: use [`WhenFull::Reject`],
    /// [`try_submit`](crate::Handle::try_submit), or [`reserve`](crate::JobBuilder::reserve), which waits without a thread.
    ///
    /// ```
    /// use brigade::{Pool, Shutdown, WhenFull};
    /// let bounded = || Pool::builder().threads(1).capacity(1);
    /// let blocks = bounded().build()?;
    /// (0..100).for_each(|_| blocks.execute(|| ())); // Waits for room.
    /// assert_eq!(blocks.shutdown(Shutdown::Drain).ran, 100);
    ///
    /// let evicts = bounded().when_full(WhenFull::DropOldest).build()?;
    /// (0..100).for_each(|_| evicts.execute(|| ())); // Never waits.
    /// let report = evicts.shutdown(Shutdown::Drain);
    /// assert_eq!(report.ran + report.discarded, 100);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "CallerRuns")]
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.config.when_full = policy;
        self
    }

    /// Sets how an idle worker waits for jobs. Default: [`Idle::Park`].
    ///
    /// ```
    /// use brigade::{Idle, Pool};
    /// use std::time::Duration;
    /// let spin = Idle::SpinThenPark(Duration::from_micros(10));
    /// let pool = Pool::builder().threads(2).idle(spin).build()?;
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn idle(mut self, idle: Idle) -> Self {
        self.config.idle = idle;
        self
    }

    /// Makes a worker that waits for a fork or a scope run any job of the pool while it waits, as rayon's workers
    /// do, and not only descendants of the fork or scope. Default: no.
    ///
    /// An unrelated job on the same stack may then wait for a lock held across such a wait.
    #[cfg(feature = "unstable-foreign")]
    #[doc(hidden)]
    pub fn waits_run_anything(mut self) -> Self {
        self.config.waits_run_anything = true;
        self
    }

    /// Sets the names of the threads: a string, to which `-{index}` is appended, or a function of the index.
    /// Default: `brigade-{index}`. Linux shows the first 15 bytes.
    ///
    /// Indices start at 0; the index of an ended thread is reused. For a thread of the core size, a name that
    /// contains NUL is an error of [`build`](Self::build); for a thread beyond the core size, the name ends at the
    /// NUL.
    ///
    /// For threads without a name, or with unique names, set a [spawner](Self::spawner) that calls
    /// [`NewThread::without_name`](crate::NewThread::without_name) or
    /// [`NewThread::with_name`](crate::NewThread::with_name).
    ///
    /// ```
    /// let name_of = |pool: &brigade::Pool| {
    ///     pool.submit(|| std::thread::current().name().map(String::from)).join()
    /// };
    /// let pool = brigade::Pool::builder().threads(1).name("render").build()?;
    /// assert_eq!(name_of(&pool)?.as_deref(), Some("render-0"));
    /// let pool = brigade::Pool::builder().threads(1).name(|index| format!("no. {index}")).build()?;
    /// assert_eq!(name_of(&pool)?.as_deref(), Some("no. 0"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "thread_name")]
    pub fn name(mut self, name: impl Into<ThreadName>) -> Self {
        let ThreadName { name, prefix } = name.into();
        self.config.hooks.name = Some(name);
        self.prefix = prefix;
        self
    }

    /// Sets the name of the pool for dumps, hooks, metrics and traces. Default: the [name](Self::name) of the
    /// threads if it is a string, else `brigade`.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).pool_name("thumbnails").build()?;
    /// assert_eq!(&*pool.metrics().pool, "thumbnails");
    /// let pool = brigade::Pool::builder().threads(1).name("render").build()?;
    /// assert_eq!(&*pool.metrics().pool, "render");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn pool_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.config.pool_name = Some(name.into());
        self
    }

    // Rustc alone suggests `threads`.
    #[doc(hidden)]
    #[deprecated(note = "here this is `name`")]
    pub fn thread_name(self, name: &'static str) -> Self {
        self.name(name)
    }

    /// Sets the stack size of each thread, in bytes. Default: the standard library's (2 MiB, or `RUST_MIN_STACK`).
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).stack_size(16 << 20).build()?;
    /// assert_eq!(pool.submit(|| [0_u8; 4 << 20].len()).join()?, 4 << 20);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Sets a hook that each thread calls with the worker's index before its first job. A panic of the hook is
    /// caught and counted. In the hook, [`current_worker`](crate::current_worker) returns the role and the pool.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let (started, starts) = mpsc::channel();
    /// let hook = move |index| _ = started.send(index);
    /// let pool = brigade::Pool::builder().threads(1).on_start(hook).build()?;
    /// assert_eq!(starts.recv(), Ok(0));
    /// # drop(pool);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "start_handler")]
    #[doc(alias = "on_thread_start")]
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.hooks.on_start = Some(Arc::new(hook) as Hook);
        self
    }

    /// Sets a hook that each thread calls with the worker's index after its last job. The pool has been closed by
    /// then, unless the thread ends earlier, idle for too long or surplus. A panic of the hook is caught and
    /// counted. In the hook, [`current_worker`](crate::current_worker) returns the role and the pool.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let (stopped, stops) = mpsc::channel();
    /// let hook = move |index| _ = stopped.send(index);
    /// drop(brigade::Pool::builder().threads(1).on_stop(hook).build()?);
    /// assert_eq!(stops.recv(), Ok(0));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "exit_handler")]
    #[doc(alias = "on_thread_stop")]
    pub fn on_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.hooks.on_stop = Some(Arc::new(hook) as Hook);
        self
    }

    /// Sets what happens when a job panics and has no handle: an [`OnPanic`], or a callback for the payload. Default:
    /// [`OnPanic::Report`].
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let tell = move |payload| _ = sender.send(payload);
    /// let pool = brigade::Pool::builder().threads(1).on_panic(tell).build()?;
    /// pool.execute(|| panic!("no such file"));
    /// assert_eq!(receiver.recv()?.downcast_ref(), Some(&"no such file"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "panic_handler")]
    pub fn on_panic(mut self, policy: impl Into<OnPanic>) -> Self {
        self.config.hooks.on_panic = policy.into();
        self
    }

    /// Sets how dropping the pool ends it. Default: [`Shutdown::Drain`], without a timeout.
    ///
    /// Does not apply to a pool left to itself by a [shutdown](crate::Handle::shutdown) whose timeout elapsed.
    ///
    /// ```
    /// use brigade::{Pool, Shutdown, time};
    /// use std::time::Duration;
    /// let finish = Shutdown::Finish.timeout(Duration::from_secs(60));
    /// let pool = Pool::builder().threads(1).on_drop(finish).build()?;
    /// let nap = pool.spawn(time::sleep(Duration::from_millis(5)));
    /// drop(pool);
    /// assert!(nap.is_finished());
    /// nap.join()?; // With `Drain` it would have been cancelled.
    ///
    /// let detach = Shutdown::Drain.timeout(Duration::ZERO);
    /// let pool = Pool::builder().threads(1).on_drop(detach).build()?;
    /// let (go, wait) = std::sync::mpsc::channel::<()>();
    /// let job = pool.submit(move || wait.recv().is_err());
    /// drop(pool); // Does not wait: the thread continues in the background.
    /// drop(go);
    /// assert!(job.join()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "detach")]
    pub fn on_drop(mut self, how: impl Into<ShutdownOptions>) -> Self {
        self.config.on_drop = how.into();
        self
    }

    /// Builds the pool and starts its first thread, or the number set by [`prestart`](Self::prestart).
    ///
    /// # Errors
    /// The operating system's error if a thread can't be started. [`io::ErrorKind::InvalidInput`] for
    /// - a number of threads, or of [spare threads](Self::spare_threads), that no pool can have, in `BRIGADE_THREADS` too;
    /// - a capacity or a [fairness](Self::fairness) of 0;
    /// - a stack larger than the address space;
    /// - a name with NUL;
    /// - a CPU to `pin` to that does not exist, or an empty list of CPUs;
    /// - a [nice value](Self::nice) outside of −20 to 19.
    ///
    /// After an error, no thread is left.
    ///
    /// # Examples
    /// ```
    /// assert!(brigade::Pool::builder().threads(2).build().is_ok());
    /// let error = brigade::Pool::builder().threads(0).build().unwrap_err();
    /// assert_eq!(error.to_string(), "the number of threads must be 1 to 4096, not 0 (`Pool::default()` uses all CPUs)");
    /// ```
    pub fn build(mut self) -> io::Result<Pool> {
        self.machine.resolve(&mut self.config)?;
        self.check().map_err(invalid)?;
        let first = self.config.first.unwrap_or(1);
        let is_threadless = self.config.is_driven;
        let is_observed = self.make_observer.is_some();
        let kind = Kind { is_bounded: self.capacity.is_some(), is_observed, is_threadless };
        let key = Key::new::<Child>(kind)?;
        let make = |make: MakeObserver| make(self.observe, self.config.pool_name(), key);
        self.config.observer = self.make_observer.map(make);
        let permits = self.capacity.map(Semaphore::new);
        let shared = Shared::new(key, *self.config, permits, Worker::live, resources_of);
        let Config { observer, inherited, .. } = &*shared.config;
        let start = |observer: &Arc<Observer>| observer.start_detector(inherited.clone());
        let detector = observer.as_ref().map_or(Ok(()), start);
        if let (true, Some(pools)) = (is_threadless, driven_pools()) {
            (pools.share)(shared.clone());
        }
        if let Err(error) = detector.and_then(|()| shared.start_core(first)) {
            shared.close(Shutdown::Discard);
            _ = shared.wait_for_end(None, wait_until);
            return Err(with_way_out(error, shared.config.stack_size));
        }
        Ok(Pool { handle: Handle::new(shared.key), shared })
    }

    /// Rejects an invalid configuration, and sets the size.
    fn check(&mut self) -> Result<(), String> {
        self.config.inherited = Inherited::here();
        self.config.pool_name = self.config.pool_name.take().or_else(|| self.prefix.take());
        let names = self.set_size()?;
        if self.config.fairness == Some(0) {
            return Err("a worker must run at least 1 job between two looks elsewhere".into());
        }
        if self.capacity == Some(0) {
            return Err("the capacity of a pool's queue must be at least 1".into());
        }
        // Half the address space: no system gives more, and std's rounding up must not overflow.
        if self.config.stack_size.is_some_and(|bytes| bytes > usize::MAX / 2) {
            return Err("the stack size is larger than the address space".into());
        }
        let has_nul = |&index: &usize| self.config.hooks.thread_name(index).as_bytes().contains(&0);
        match (0..names).find(has_nul) {
            Some(index) => Err(format!("the name of thread {index} contains NUL")),
            None => Ok(()),
        }
    }

    /// Sets the size; returns how many threads the pool has from the beginning.
    fn set_size(&mut self) -> Result<usize, String> {
        if self.config.is_driven {
            self.config.have_no_thread();
            let has_number = self.threads.is_some();
            let refusal = "a pool `without_threads` can't have a number of `threads`";
            return if has_number { Err(refusal.into()) } else { Ok(0) };
        }
        if self.threads.is_none() {
            self.threads = threads_by_environment()?;
        }
        let threads = self.threads.unwrap_or_else(|| self.config.default_threads()).check()?;
        if self.config.spare.is_some_and(|spare| spare > Threads::MAX) {
            return Err(format!("a pool has at most {} spare threads", Threads::MAX));
        }
        self.config.size = self.config.size_of(threads);
        Ok(threads.core)
    }
}

/// Adds what to do to the error of a system that starts no thread.
fn with_way_out(error: io::Error, stack_size: Option<usize>) -> io::Error {
    use io::ErrorKind::{OutOfMemory, Unsupported, WouldBlock};
    match error.kind() {
        kind @ (OutOfMemory | Unsupported | WouldBlock) => {
            let advice = "`Builder::without_threads` makes a pool whose jobs run in the waits of its callers";
            let stack = stack_size.map(|bytes| format!(" with a `stack_size` of {bytes} bytes"));
            let stack = stack.unwrap_or_default();
            io::Error::new(kind, format!("no thread can be started{stack}: {error}; {advice}"))
        }
        _ => error,
    }
}

/// The variable that gives a pool its size if its builder does not.
const VARIABLE: &str = "BRIGADE_THREADS";

/// The size that the variable `BRIGADE_THREADS` gives a pool whose builder sets none.
fn threads_by_environment() -> Result<Option<Threads>, String> {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    if value.is_empty() {
        return Ok(None);
    }
    let number = value.to_str().and_then(|number| number.trim().parse::<usize>().ok());
    match number {
        None => Err(format!(
            "{VARIABLE} must be the number of threads, or 0 for the default, not {value:?}"
        )),
        Some(0) => Ok(None),
        Some(number) => {
            Threads::from(number).check().map(Some).map_err(|why| format!("{VARIABLE}: {why}"))
        }
    }
}

opaque!(Builder);
