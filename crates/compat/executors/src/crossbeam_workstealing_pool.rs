//! A pool of threads with a queue each: a job of the pool submits to the queue of its thread, and idle threads steal.
//!
//! A panic ends the job, and the thread continues. Jobs submitted before the drop of the last clone still run, in the
//! background.
//!
//! A worker with jobs in its queue looks for jobs from outside after 100 of these, and after about 100 µs in any case.
//! With `ws-no-park` a worker without a job does not sleep.
//!
//! ```
//! use executors::*;
//! use executors::crossbeam_workstealing_pool;
//! let pool = crossbeam_workstealing_pool::small_pool(4);
//! let (sender, receiver) = std::sync::mpsc::channel();
//! for number in 1..=8 {
//!     let sender = sender.clone();
//!     pool.execute(move || sender.send(number).unwrap());
//! }
//! assert_eq!(pool.shutdown(), Ok(()));
//! assert_eq!(receiver.try_iter().sum::<i32>(), 36);
//! ```

use std::cell::Cell;
use std::convert::identity;
use std::sync::Arc;
use std::time::Duration;

use brigade::{Builder, Idle, Shutdown};
#[cfg(feature = "thread-pinning")]
use core_affinity::CoreId;

use crate::metered::Meter;
use crate::parker::{self, DynParker, Parker, StaticParker};
use crate::pins::Pins;
use crate::shared::futures::futures_executor;
use crate::shared::{PATIENCE, Shared, configure, executor};

/// The behaviour of a worker without a job.
const IDLE: Idle = if cfg!(feature = "ws-no-park") { Idle::Spin } else { Idle::Park };

thread_local! {
    /// Whether this thread is a worker of such a pool.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Creates a pool of up to 32 threads: `ThreadPool::new(threads, parker::small())`.
///
/// # Panics
/// As for [`ThreadPool::new`].
#[track_caller]
pub fn small_pool(threads: usize) -> ThreadPool<StaticParker<parker::SmallThreadData>> {
    ThreadPool::new(threads, parker::small())
}

/// Creates a pool of up to 64 threads: `ThreadPool::new(threads, parker::large())`.
///
/// # Panics
/// As for [`ThreadPool::new`].
#[track_caller]
pub fn large_pool(threads: usize) -> ThreadPool<StaticParker<parker::LargeThreadData>> {
    ThreadPool::new(threads, parker::large())
}

/// Creates a pool of any number of threads: `ThreadPool::new(threads, parker::dynamic())`. More than 4096 are 4096.
///
/// # Panics
/// As for [`ThreadPool::new`].
#[track_caller]
pub fn dyn_pool(threads: usize) -> ThreadPool<StaticParker<parker::DynamicThreadData>> {
    ThreadPool::new(threads, parker::dynamic())
}

/// Creates a pool of any number of threads, whose type does not tell the parker. More than 4096 are 4096.
///
/// # Panics
/// As for [`ThreadPool::new`].
///
/// # Examples
/// ```
/// use executors::*;
/// let pool = crossbeam_workstealing_pool::pool_with_auto_parker(4);
/// assert_eq!(pool.shutdown(), Ok(()));
/// ```
#[track_caller]
pub fn pool_with_auto_parker(threads: usize) -> ThreadPool<DynParker> {
    ThreadPool::new(threads, parker::for_threads(threads))
}

/// Runs a job on the pool of the calling worker, by the worker's own queue; returns it on any other thread.
///
/// # Errors
/// Returns the job if the calling thread is not a worker of such a pool.
///
/// # Examples
/// ```
/// use executors::*;
/// use executors::crossbeam_workstealing_pool::{execute_locally, small_pool};
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let pool = small_pool(1);
/// pool.execute(move || {
///     let sent = execute_locally(move || sender.send("a worker's own").unwrap());
///     assert!(sent.is_ok());
/// });
/// assert_eq!(receiver.recv(), Ok("a worker's own"));
/// assert!(execute_locally(|| ()).is_err());
/// ```
pub fn execute_locally<F>(job: F) -> Result<(), F>
where
    F: FnOnce() + Send + 'static,
{
    match IS_WORKER.get() {
        true => brigade::try_execute_locally(job).map_err(|rejected| rejected.into_inner()),
        false => Err(job),
    }
}

/// A pool of threads with a queue each, shared by the clones.
///
/// The parker says how many threads it may have. It is not used otherwise: threads sleep as those of every pool of brigade.
///
/// See the [module](self).
#[derive(Clone)]
pub struct ThreadPool<P>
where
    P: Parker + Clone + 'static,
{
    /// With the parker, which is shared from now on as far as the user can tell.
    shared: Arc<Shared<P>>,
}

impl<P> ThreadPool<P>
where
    P: Parker + Clone + 'static,
{
    /// Creates a pool of `threads` threads; more than 4096 are 4096.
    ///
    /// With the feature `thread-pinning` each is pinned to a separate core. If there are more threads than cores, the rest
    /// floats.
    ///
    /// # Panics
    /// If `threads` is 0 or more than the parker allows, or a thread can't be started.
    ///
    /// # Examples
    /// ```
    /// use executors::*;
    /// use executors::crossbeam_workstealing_pool::ThreadPool;
    /// let pool = ThreadPool::new(4, parker::small());
    /// assert_eq!(pool.shutdown(), Ok(()));
    /// ```
    #[track_caller]
    pub fn new(threads: usize, parker: P) -> ThreadPool<P> {
        Self::start(threads, parker, Pins::all(), identity)
    }

    /// Creates a pool with a thread pinned to each of these cores, and `floating` unpinned threads.
    ///
    /// A thread that can't be pinned to its core floats as well, and the log has a warning.
    ///
    /// # Panics
    /// If there are no threads or more than the parker allows, or a thread can't be started.
    ///
    /// # Examples
    /// ```
    /// use executors::*;
    /// use executors::crossbeam_workstealing_pool::ThreadPool;
    /// let cores = core_affinity::get_core_ids().expect("the ids of the cores");
    /// let pool = ThreadPool::with_affinity(&cores[..1], 1, parker::small());
    /// assert_eq!(pool.shutdown(), Ok(()));
    /// ```
    #[cfg(feature = "thread-pinning")]
    #[track_caller]
    pub fn with_affinity(cores: &[CoreId], floating: usize, parker: P) -> ThreadPool<P> {
        Self::start(cores.len() + floating, parker, Pins::to(cores), identity)
    }

    /// Like [`with_affinity`](Self::with_affinity), but a thread without a job looks first into the queues of unpinned threads,
    /// and then into the queues of others in the order of the distance of their cores.
    ///
    /// # Panics
    /// As for [`with_affinity`](Self::with_affinity), and if a core is not in the matrix.
    ///
    /// # Examples
    /// ```
    /// use executors::*;
    /// use executors::crossbeam_workstealing_pool::ThreadPool;
    /// use executors::numa_utils::{ProcessingUnitDistance, equidistance};
    /// let cores = core_affinity::get_core_ids().expect("the ids of the cores");
    /// let distances = ProcessingUnitDistance::from_function(cores.len(), equidistance);
    /// let pool = ThreadPool::with_numa_affinity(&cores[..1], 1, parker::small(), distances);
    /// assert_eq!(pool.shutdown(), Ok(()));
    /// ```
    #[cfg(feature = "numa-aware")]
    #[track_caller]
    pub fn with_numa_affinity(
        cores: &[CoreId],
        floating: usize,
        parker: P,
        pu_distance: crate::numa_utils::ProcessingUnitDistance,
    ) -> ThreadPool<P> {
        let victims = brigade::Victims::ByTable(pu_distance.between(cores, floating));
        let order = |builder: Builder| builder.victims(victims);
        Self::start(cores.len() + floating, parker, Pins::to(cores), order)
    }

    #[track_caller]
    fn start(
        threads: usize,
        parker: P,
        pins: Pins,
        order: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        if let Some(most) = parker.max_threads() {
            assert!(threads <= most, "this parker is for {most} threads, not for {threads}");
        }
        let builder = configure(threads)
            .fairness(100)
            .idle(IDLE)
            .name(|index| format!("cb-ws-pool-worker-{index}"))
            .on_drop(Shutdown::Drain.timeout(Duration::ZERO));
        let builder = pins.apply(order(builder), || IS_WORKER.set(true));
        let meter = Meter::new("crossbeam_workstealing_pool").by_thread();
        Self { shared: Shared::start(builder, meter, parker) }
    }
}

/// A pool of as many threads as the process may run at once.
#[cfg(feature = "defaults")]
impl Default for ThreadPool<DynParker> {
    fn default() -> Self {
        pool_with_auto_parker(brigade::default_threads())
    }
}

executor!(
    [<P: Parker + Clone + 'static>] ThreadPool<P>,
    /// Waits for five seconds at most. Jobs unfinished by then run on.
    waits: Some(PATIENCE)
);
futures_executor!([<P: Parker + Clone + 'static>] ThreadPool<P>);
