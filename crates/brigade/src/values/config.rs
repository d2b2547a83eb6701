//! The configuration of a pool: values, all chosen at run time.

use core::any::Any;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_sync::thread::{Inherited, NewThread, Thread, set_nice};
use brigade_sync::{OnceLock, affinity};
use brigade_task::{HeldPanic, drop_contained, split_name};

use super::affinity::{Neighbours, Pins};
use super::observed::Observer;

/// Which queue takes the jobs submitted by a worker of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Queueing {
    /// The worker's own queue, from which idle workers steal. Scales with the number of workers. The default.
    #[default]
    Stealing,
    /// One queue for the whole pool: jobs start in the order in which they were accepted.
    Shared,
}

/// The order in which a worker runs its own jobs. Thieves always take the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// The newest, whose data is still in the cache. From time to time
    /// ([`Builder::fairness`](crate::Builder::fairness)) the oldest is run instead, so no job waits forever.
    Lifo,
    /// The oldest. The default.
    #[default]
    Fifo,
}

/// How a worker without work waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Idle {
    /// Sleeps until it is woken, at the cost of two system calls: to fall asleep, and to be woken. The default.
    ///
    /// Between parallel steps, a worker stays awake during pauses of up to 50 µs.
    #[default]
    Park,
    /// Spins for this long, then sleeps. At most one worker of a pool spins at a time.
    SpinThenPark(Duration),
    /// Spins all the time and never sleeps: the lowest latency, at the cost of a whole core for each worker.
    Spin,
}

/// On which CPU a woken worker runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// The CPU chosen by the kernel. The pool never changes the allowed CPUs of a thread.
    Kernel,
    /// The CPU chosen by the kernel, unless the waking thread needs it while a different CPU is free. Then the woken
    /// worker moves to a different CPU: when the waker ends a job, if the worker still waits; or when the worker ends
    /// its first job, if it keeps the waker from running. The allowed CPUs of the worker's thread are restored before
    /// the next job, unless they have been set by another thread in the meantime. Linux only; elsewhere, and with
    /// [`Idle::Spin`], the same as `Kernel`. The default.
    #[default]
    Spread,
}

/// A callback for unhandled panics; it gets the payload.
pub type PanicCallback = Arc<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// The policy for a panic of a job without a handle. The worker continues in any case.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnPanic {
    /// Counts the panic. The panic hook has reported it (to stderr, unless the program has set a different hook). The
    /// default.
    #[default]
    Report,
    /// Aborts the process.
    Abort,
    /// Calls this callback on the worker, after the job: the job's name and values are told to a panic hook, which runs in the
    /// job. A panic of the callback is counted and otherwise ignored.
    Call(PanicCallback),
}

impl<F: Fn(Box<dyn Any + Send>) + Send + Sync + 'static> From<F> for OnPanic {
    /// Returns [`Call`](Self::Call) with this callback.
    fn from(callback: F) -> Self {
        Self::Call(Arc::new(callback))
    }
}

impl OnPanic {
    /// Applies the policy to a panic, unless the job's scope or handle has it.
    ///
    /// # Errors
    /// If the callback panicked, which is contained.
    #[cold]
    pub(crate) fn tell(&self, payload: Box<dyn Any + Send>) -> Result<(), ()> {
        let (_, payload) = split_name(payload);
        if payload.is::<HeldPanic>() {
            return Ok(());
        }
        match self {
            Self::Report => drop_contained(payload),
            Self::Abort => {
                // Not `eprintln`, which panics when stderr is closed.
                let reason = b"brigade: a job panicked, and the pool's policy is to abort\n";
                let _ = io::stderr().write_all(reason);
                std::process::abort();
            }
            Self::Call(callback) => {
                let called = panic::catch_unwind(AssertUnwindSafe(|| callback(payload)));
                return called.map_err(drop_contained);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for OnPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Report => "Report",
            Self::Abort => "Abort",
            Self::Call(_) => "Call(..)",
        })
    }
}

/// How a pool ends: the treatment of accepted jobs, once nothing is accepted from outside any more.
///
/// A second shutdown may be stricter than the first; from the mildest to the strictest: `Finish`, `Drain`, `Discard`.
///
/// ```
/// use brigade::{Pool, Shutdown, time};
/// use std::time::Duration;
/// let pool = Pool::new(1);
/// let finished = pool.spawn(time::sleep(Duration::from_millis(5)));
/// assert_eq!(pool.shutdown(Shutdown::Finish.timeout(Duration::from_secs(60))).ran, 1);
/// finished.join()?;
///
/// let pool = Pool::new(1);
/// let cancelled = pool.spawn(time::sleep(Duration::from_secs(3600)));
/// pool.shutdown(Shutdown::Drain);
/// assert!(cancelled.join().unwrap_err().is_cancelled());
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// Runs everything to the end: queued jobs, jobs submitted by these, futures, and delayed closures. Periodic
    /// closures stop. A future that is never woken keeps the pool from ending, so set a [timeout](Self::timeout).
    Finish,
    /// Runs queued jobs and jobs submitted by these, and polls woken futures as long as a closure runs. Once all running
    /// closures wait for jobs of the pool, a future is polled until it next waits or [yields](crate::yield_now), and is
    /// then dropped; its handle returns [`JoinError::Cancelled`](crate::JoinError::Cancelled). So futures that keep each
    /// other busy do not keep the pool. A future for whose handle a closure waits, by a join, a set, a scope or
    /// [`block_on`](crate::block_on()), is kept until nothing else is left to run; futures that would feed it through a
    /// channel may be dropped before. Delayed closures are dropped at once. The default.
    #[default]
    Drain,
    /// Drops queued jobs; their handles return [`JoinError::Cancelled`](crate::JoinError::Cancelled). Running jobs
    /// are [asked to stop](crate::cancelled), and are waited for. Forks, parallel loops and closures of
    /// [scopes](crate::Scope) are part of them, and run. A future is dropped at the next
    /// [operation](crate::time#operations-that-are-always-ready) or wait. Nothing is accepted any more, not even from
    /// the pool's own jobs.
    Discard,
}

impl Shutdown {
    /// Limits how long to wait for the end of the pool. After the timeout the threads continue in the background, and
    /// end when they are done. A timeout of 0 does not wait.
    ///
    /// ```
    /// use brigade::{Pool, Shutdown};
    /// use std::time::Duration;
    /// let pool = Pool::new(1);
    /// let waits = pool.spawn(std::future::pending::<()>());
    /// let report = pool.shutdown(Shutdown::Finish.timeout(Duration::from_millis(5)));
    /// assert_eq!(report.still_running, 1);
    /// pool.shutdown(Shutdown::Drain);
    /// assert!(waits.join().unwrap_err().is_cancelled());
    /// ```
    pub fn timeout(self, timeout: Duration) -> ShutdownOptions {
        ShutdownOptions { how: self, timeout: Some(timeout) }
    }
}

/// A way to end a pool, and how long to wait for the end; made by [`Shutdown::timeout`], from a [`Shutdown`], or from
/// a [`Duration`], which is the timeout of [`Shutdown::Drain`].
///
/// ```
/// use brigade::{Shutdown, ShutdownOptions};
/// use std::time::Duration;
/// assert_eq!(ShutdownOptions::from(Shutdown::Drain), ShutdownOptions::default());
/// let second = Duration::from_secs(1);
/// assert_eq!(ShutdownOptions::from(second), Shutdown::Drain.timeout(second));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownOptions {
    pub(crate) how: Shutdown,
    /// No limit if `None`.
    pub(crate) timeout: Option<Duration>,
}

/// [`Shutdown::Drain`], with this timeout.
impl From<Duration> for ShutdownOptions {
    fn from(timeout: Duration) -> Self {
        Shutdown::default().timeout(timeout)
    }
}

impl From<Shutdown> for ShutdownOptions {
    fn from(how: Shutdown) -> Self {
        Self { how, timeout: None }
    }
}

/// The outcome of a pool's accepted jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Jobs that returned or panicked.
    pub ran: u64,
    /// Jobs dropped before they started, and futures dropped before they were ready.
    pub discarded: u64,
    /// Jobs not ended yet: 0, unless the timeout elapsed, or a job of the pool shut it down. A job that shuts down
    /// its pool may also [run in its caller](WhenFull::RunInCaller). The workers finish the rest.
    pub still_running: u64,
}

/// How many threads a pool has: a number, or a range from the core size to the maximum; see
/// [`Builder::threads`](crate::Builder::threads).
///
/// ```
/// use brigade::Threads;
/// assert_eq!(Threads::from(4), Threads::from(4..=4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    pub(crate) core: usize,
    pub(crate) max: usize,
}

impl From<usize> for Threads {
    fn from(threads: usize) -> Self {
        Self { core: threads, max: threads }
    }
}

impl From<RangeInclusive<usize>> for Threads {
    fn from(threads: RangeInclusive<usize>) -> Self {
        Self { core: *threads.start(), max: *threads.end() }
    }
}

impl Threads {
    /// The maximum number of threads of a pool: 4096.
    pub const MAX: usize = MAX_THREADS;

    /// Rejects an impossible size, with the reason.
    pub(crate) fn check(self) -> Result<Self, String> {
        let Self { core, max } = self;
        if core > max {
            return Err(format!("a pool's core size must not exceed its maximum: {core}..={max}"));
        }
        if !(1..=MAX_THREADS).contains(&max) {
            return Err(format!(
                "the number of threads must be 1 to {MAX_THREADS}, not {max} (`Pool::default()` uses all CPUs)"
            ));
        }
        Ok(self)
    }
}

/// The limits of the number of workers of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// The number of workers kept by an idle pool.
    pub(crate) core: usize,
    /// The most workers, not counting blocked workers.
    pub(crate) max: usize,
    /// The most blocked workers with a replacement.
    pub(crate) spare: usize,
}

/// When a pool adds threads beyond its core size, up to the maximum. Up to the core size, each submission starts a
/// thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Growth {
    /// When a job is submitted and no thread is idle. The default.
    #[default]
    OnSubmit,
    /// When a job is submitted, no thread is idle, and at least this many jobs are queued, including the new job.
    WhenQueued(usize),
    /// Never, except in place of a [blocked](crate::blocking) thread.
    WhenBlocked,
}

/// The policy for a job submitted to a bounded pool whose queue is full.
///
/// A job of the same pool never waits for room, because its worker can't wait for itself. It never runs the new job
/// inside itself, because the new job may take a lock held by the running job. Where a policy would do either, the
/// new job is queued [beyond the capacity](crate::Builder::capacity). The same applies to submissions by a job that
/// already runs in its caller, by the captures of a job dropped because the queue is full, and by the pool's
/// [spawner](crate::Builder::spawner).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenFull {
    /// The job is rejected with [`Reason::Full`](crate::Reason::Full): [`execute`](crate::Handle::execute) and the
    /// other methods without `try_` panic.
    Reject,
    /// The submitting thread waits until there is room. If the pool is shut down in the meantime, the job is
    /// rejected. The default.
    #[default]
    Block,
    /// Like `Block`, but the job is rejected if there is still no room after this long, and not earlier.
    BlockFor(Duration),
    /// The submitting thread, outside the pool, runs the job, which slows submitters down to the pool's pace. It runs
    /// no job once the pool is closed. Such jobs do not nest.
    ///
    /// The submission returns when the job has ended. [`wait_idle`](crate::Handle::wait_idle) and
    /// [`shutdown`](crate::Handle::shutdown) also wait for the job, whichever thread runs it.
    RunInCaller,
    /// The oldest queued job of the lowest nonempty [class](crate::Priority) is
    /// [cancelled](crate::Cause::Evicted) to make room. In the default class this is the oldest job from
    /// outside, or else the oldest job of a worker's own queue. With [`Queueing::Shared`] it is the oldest job of
    /// all. Otherwise several producers have several queues, and it is the oldest job of any such queue.
    ///
    /// The captures of the cancelled job are dropped once the new job is queued. If all room is
    /// [reserved](crate::JobBuilder::reserve), the new job is rejected, as by `Reject`.
    DropOldest,
    /// The new job is accepted, and [cancelled](crate::Cause::Evicted) at once.
    DropNewest,
}

/// The function that starts the threads of a pool; see [`Builder::spawner`](crate::Builder::spawner).
pub(crate) type Spawner = Arc<dyn Fn(NewThread) -> io::Result<Thread> + Send + Sync>;

/// A worker's name, by its index.
pub(crate) type Name = Arc<dyn Fn(usize) -> String + Send + Sync>;

/// A function of a worker's index, such as a hook.
pub(crate) type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// The values of a pool.
#[derive(Clone, Default)]
pub(crate) struct Config {
    /// The size at the start.
    pub(crate) size: Size,
    /// The most blocked workers with a replacement; `None` for the maximum size.
    pub(crate) spare: Option<usize>,
    pub(crate) growth: Growth,
    /// How long a worker beyond the core size stays idle before it leaves; `None` for the default.
    pub(crate) keep_alive: Option<Duration>,
    /// How many threads of the core size are started at once; `None` for 1.
    pub(crate) first: Option<usize>,
    /// Whether the pool starts no thread: its owner, or a thread that waits, is the only worker, now and then.
    pub(crate) is_driven: bool,
    /// Whether the pool's clock is paused, and only the owner moves it.
    pub(crate) is_paused: bool,
    /// `None` for the default.
    pub(crate) pool_name: Option<Arc<str>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) queueing: Queueing,
    pub(crate) order: Order,
    /// Turns between looks elsewhere, [`INJECTOR_INTERVAL`] by default.
    pub(crate) fairness: Option<u32>,
    pub(crate) when_full: WhenFull,
    pub(crate) idle: Idle,
    /// Whether a worker that waits for a fork or a scope runs any job meanwhile.
    #[cfg(feature = "unstable-foreign")]
    pub(crate) waits_run_anything: bool,
    pub(crate) placement: Placement,
    pub(crate) pins: Pins,
    /// The order in which a worker tries its peers.
    pub(crate) neighbours: Neighbours,
    /// The nice value of the threads, if it differs from the nice value of the building thread.
    pub(crate) nice: Option<i32>,
    /// The values inherited by the threads from the building thread.
    pub(crate) inherited: Arc<Inherited>,
    /// How dropping the pool ends it.
    pub(crate) on_drop: ShutdownOptions,
    /// The observer of the pool's jobs, if any; set when the pool is built.
    pub(crate) observer: Option<Arc<Observer>>,
    /// The default once the pool is built.
    pub(crate) hooks: Hooks,
}

/// The values of a pool that run code of the user; a pool drops them at its end.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) name: Option<Name>,
    /// `None` for [`NewThread::start`].
    pub(crate) spawner: Option<Spawner>,
    pub(crate) on_panic: OnPanic,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_stop: Option<Hook>,
}

/// Turns between looks at the injector while there is local work. Prime, so it does not beat with a workload's own
/// period; 61 is the number of Go's scheduler (`runtime/proc.go`). Few in a seeded run, so that its small programs take as many.
pub(crate) const INJECTOR_INTERVAL: u32 = if cfg!(brigade_seeded) { 5 } else { 61 };

/// How long a low job gives way. Long compared with a burst of work, short compared with a noticeable delay.
pub(crate) const AGEING: Duration = Duration::from_millis(100);

/// The most threads of a pool: the counters are 16 bits wide, and no machine needs more.
pub(crate) const MAX_THREADS: usize = 4096;

/// How long a worker beyond the core size stays idle. rusty_pool's and Java's number.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(60);

impl Config {
    /// Makes this the configuration of a pool that starts no thread.
    pub(crate) fn have_no_thread(&mut self) {
        self.is_driven = true;
        self.size = Size { core: 1, max: 1, spare: 0 };
        self.spare = Some(0);
        self.placement = Placement::Kernel;
        self.queueing = Queueing::Shared;
    }

    /// The size of a pool with this many threads.
    pub(crate) fn size_of(&self, threads: Threads) -> Size {
        let Threads { core, max } = threads;
        Size { core, max, spare: self.spare.unwrap_or(max).min(MAX_THREADS) }
    }

    /// Whether a worker that waits for a fork or a scope runs any job meanwhile.
    pub(crate) fn waits_run_anything(&self) -> bool {
        #[cfg(feature = "unstable-foreign")]
        {
            self.waits_run_anything
        }
        #[cfg(not(feature = "unstable-foreign"))]
        {
            false
        }
    }

    /// Whether the pool ever places woken workers. A worker that never sleeps has a CPU.
    pub(crate) fn may_spread(&self) -> bool {
        affinity::EXISTS && self.placement == Placement::Spread && self.idle != Idle::Spin
    }

    /// As many threads as may run at once, by affinity and quota; 1 if that is unknown.
    pub(crate) fn default_threads(&self) -> Threads {
        self.inherited.parallelism().min(MAX_THREADS).into()
    }

    /// Applies the configuration to the calling thread, the worker with this index. The system may now refuse a value
    /// allowed when the pool was built. This is no error: the thread runs without the value.
    pub(crate) fn apply_to_thread(&self, index: usize) {
        self.pins.apply(index);
        if let Some(nice) = self.nice {
            let _ = set_nice(nice);
        }
    }

    /// The name of the pool.
    pub(crate) fn pool_name(&self) -> Arc<str> {
        self.pool_name.clone().unwrap_or_else(|| "brigade".into())
    }
}

impl Hooks {
    /// The stack size of the pool's threads in bytes; `None` if another spawner than the default may start them.
    pub(crate) fn known_stack_size(&self, asked: Option<usize>) -> Option<usize> {
        // As the standard library determines it, once.
        static DEFAULT: OnceLock<usize> = OnceLock::new();
        let by_user = || std::env::var("RUST_MIN_STACK").ok()?.parse().ok();
        let default = || *DEFAULT.get_or_init(|| by_user().unwrap_or(2 << 20));
        // The threads of a seeded run have stacks of their own.
        let is_known = self.spawner.is_none() && !cfg!(brigade_seeded);
        if is_known { Some(asked.unwrap_or_else(default)) } else { None }
    }

    /// The name of a worker's thread.
    pub(crate) fn thread_name(&self, index: usize) -> String {
        if let Some(name) = &self.name {
            // User code: a panic here must not make a submission fail.
            match panic::catch_unwind(AssertUnwindSafe(|| name(index))) {
                Ok(name) => return name,
                Err(payload) => drop_contained(payload),
            }
        }
        format!("brigade-{index}")
    }
}
