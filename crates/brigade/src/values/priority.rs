//! The classes of jobs.

/// How urgent a job is; set by [`JobBuilder::priority`](crate::JobBuilder::priority).
///
/// A worker takes a `High` job before all others, between any two of its jobs, and a `Low` job when there is nothing
/// else to do. No class waits forever.
///
/// - After 16 `High` jobs in a row a worker runs another job, if any is queued.
/// - A `Low` job is *aged* once it has waited for 100 ms. A busy worker takes an aged job each time it looks for jobs
///   from elsewhere. So a `Low` job waits for 100 ms, and then for at most 62 jobs of a worker for itself and for each
///   `Low` job queued before it: the 61 between two looks, or as many as the [fairness](crate::Builder::fairness)
///   sets, and the job found by a look. With [`Order::Lifo`](crate::Order::Lifo) it is twice as many. A look also runs
///   a job restricted to this worker, and a job of a stuck worker, if there are any. Beside an endless supply of `High`
///   jobs, up to 16 of them may run after each job of a look: then the number is at least 34, and 17 times as large
///   with `Order::Lifo`.
///
/// Queued jobs of the classes `High` and `Low` run in the order of their submission. For `Normal` it is the order of
/// the [queues](crate::Queueing). A running job is never interrupted.
///
/// **Work submitted by a job to its own pool has the job's class**, unless it sets another: closures, futures, timers
/// and jobs of a [`TaskSet`](crate::TaskSet). Work submitted to another pool is `Normal` there. A future keeps its
/// class at each poll, regardless of its waker.
///
/// Forks and jobs of a scope are not queued by class. They are part of the job that waits for them, and work
/// submitted by them has its class, on any thread of the pool. Jobs restricted to a single thread are always
/// `Normal`: [local futures](crate::spawn_local), [broadcasts](crate::Handle::broadcast) and jobs [for one
/// worker](crate::JobBuilder::on_worker).
///
/// **Priority follows a wait.** A job that is joined or awaited by a job of the same pool with a higher class gets this
/// class, by itself or in a [`TaskSet`](crate::TaskSet): a queued job is queued by it, and all further polls of a
/// future have it, which passes it on to the jobs that the future awaits. So a `High` job does not wait behind
/// `Normal` ones for a `Low` job. The class of a running closure, of a job of a [`Limited`](crate::Limited), and of a
/// future with a deadline or in a bounded pool before its first poll does not change. No class passes a lock or a
/// channel.
///
/// ```
/// use brigade::{Pool, Priority};
/// use std::sync::mpsc;
/// let pool = Pool::new(1);
/// let (ran, order) = mpsc::channel();
/// let (begin, begins) = mpsc::channel::<()>();
/// let (started, has_started) = mpsc::channel();
/// pool.execute(move || {
///     _ = started.send(());
///     _ = begins.recv();
/// });
/// _ = has_started.recv(); // It runs, and the others are queued before it ends.
/// for class in [Priority::Low, Priority::Normal, Priority::High] {
///     let ran = ran.clone();
///     pool.job().priority(class).execute(move || _ = ran.send(brigade::current_priority()))?;
/// }
/// drop((begin, ran));
/// assert!(order.iter().eq([Priority::High, Priority::Normal, Priority::Low]));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// Runs when there is nothing else, or once it has waited for 100 ms.
    Low,
    /// Runs in turn. The default.
    #[default]
    Normal,
    /// Runs before all unstarted jobs of other classes. Each thread may already be about to start a job.
    High,
}

/// The number of a job that was raised to `Normal`. It is none of a queued job, so the class of its first queue is not noted later.
const RAISED: u8 = 3;

impl Priority {
    /// The number that a queue notes in its jobs: 0 is that of most jobs, and need not be noted.
    pub(crate) fn noted(self) -> u8 {
        match self {
            Self::Normal => 0,
            Self::Low => 1,
            Self::High => 2,
        }
    }

    /// The number of a job that is raised to this class.
    pub(crate) fn raised(self) -> u8 {
        if self == Self::Normal { RAISED } else { self.noted() }
    }

    /// The class with a number.
    pub(crate) fn of_number(number: u8) -> Self {
        match number {
            1 => Self::Low,
            2 => Self::High,
            _ => Self::Normal,
        }
    }
}
