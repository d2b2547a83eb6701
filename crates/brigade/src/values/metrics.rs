//! Counters, always on, each written by a single thread.

use core::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_sync::time;
use brigade_task::{Cause, Causes, Outcome};

/// The counters of a worker, written only by the worker.
#[derive(Default)]
pub(crate) struct Counters {
    /// Jobs that returned on this worker.
    pub(crate) returned: Counter,
    /// Jobs that panicked on this worker.
    pub(crate) panicked: Counter,
    /// Panics caught on this worker: of jobs, hooks, callbacks and destructors.
    pub(crate) panics: Counter,
    /// Jobs cancelled and dropped on this worker, by cause.
    pub(crate) cancelled: [Counter; Cause::ALL.len()],
    /// Successful steals, each of a job or several.
    pub(crate) stolen: Counter,
    /// How often the worker announced itself as parked.
    pub(crate) parks: Counter,
    /// How often the worker was woken by a different thread.
    pub(crate) wakes: Counter,
    /// Jobs accepted on the worker's own queue.
    pub(crate) accepted: Counter,
    /// Jobs moved from the own queue to the injector, and futures queued here again; counted before they are moved or
    /// queued.
    pub(crate) moved: Counter,
    /// How long the worker has been awake, if the jobs of the pool are observed: the clock that it reads costs a tenth of a
    /// timer.
    pub(crate) awake: Option<Awake>,
}

impl Counters {
    /// Counts a job that did not return.
    #[cold]
    pub(crate) fn count_other(&self, outcome: Outcome) {
        if let Outcome::Cancelled(cause) = outcome {
            self.cancelled[cause as usize].add(1);
        } else if let Outcome::Panicked = outcome {
            self.panicked.add(1);
            self.panics.add(1);
        }
    }

    /// Counts the worker's time from now on.
    pub(crate) fn wakes_up(&self) {
        let Some(awake) = &self.awake else { return };
        awake.add(awake.now().wrapping_neg());
    }

    /// Ends what `wakes_up` began.
    pub(crate) fn falls_asleep(&self) {
        let Some(awake) = &self.awake else { return };
        awake.add(awake.now());
    }
}

/// How long a worker has been awake. The clock is read only when the worker falls asleep and wakes up.
pub(crate) struct Awake {
    begin: Instant,
    /// Nanoseconds up to the last sleep; while the worker is awake, less the time of the wake-up, and so below zero
    /// (as two's complement).
    nanos: AtomicU64,
}

impl Default for Awake {
    fn default() -> Self {
        Self { begin: time::now(), nanos: AtomicU64::new(0) }
    }
}

impl Awake {
    /// Nanoseconds since the beginning, plus 1.
    fn now(&self) -> u64 {
        time::now().saturating_duration_since(self.begin).as_nanos() as u64 + 1
    }

    fn add(&self, nanos: u64) {
        // Ordering: Relaxed: only the worker writes the number, which orders nothing.
        let sum = self.nanos.load(Ordering::Relaxed).wrapping_add(nanos);
        self.nanos.store(sum, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        let nanos = self.nanos.load(Ordering::Relaxed);
        let is_awake = (nanos as i64) < 0;
        Duration::from_nanos(if is_awake { nanos.wrapping_add(self.now()) } else { nanos })
    }
}

/// A number written by a single thread and read by any thread.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds to the number. Only the owner calls this, so no read-modify-write is needed.
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        // Ordering: Release pairs with the Acquire in `get`: a reader that sees the outcome of a job counted also
        // sees the job accepted.
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Release);
    }

    /// Subtracts an excess. Only the owner calls this.
    pub(crate) fn take_back(&self, less: u64) {
        // Ordering: as in `add`.
        self.0.store(self.0.load(Ordering::Relaxed) - less, Ordering::Release);
    }

    /// Reads.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Counts of jobs that ended off the workers: run in their caller, or dropped.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    /// Jobs accepted without being queued. Queued jobs are counted where they were queued.
    pub(crate) accepted: u64,
    pub(crate) returned: u64,
    pub(crate) panicked: u64,
    pub(crate) cancelled: Causes,
}

impl Totals {
    /// The number of ended jobs.
    #[inline(never)]
    pub(crate) fn ended(&self) -> u64 {
        self.returned + self.panicked + self.cancelled.sum()
    }

    /// Counts a job that ended.
    pub(crate) fn count(&mut self, ran: Outcome) {
        match ran {
            Outcome::Returned => self.returned += 1,
            Outcome::Panicked => self.panicked += 1,
            Outcome::Cancelled(cause) => self.cancelled.add(cause, 1),
            Outcome::Stale | Outcome::Polled => {}
        }
    }
}

/// The counters of a pool; see [`Handle::metrics`](crate::Handle::metrics).
///
/// Always `accepted = returned + panicked + cancelled + queued + running`. Each number is exact when nothing runs,
/// and may be slightly out of date otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// The [name](crate::Builder::pool_name) of the pool. Empty if the pool no longer exists.
    pub pool: Arc<str>,
    /// Jobs accepted. Never less than in an earlier reading.
    pub accepted: u64,
    /// Jobs that returned.
    pub returned: u64,
    /// Jobs that panicked.
    pub panicked: u64,
    /// Jobs dropped before they started, and futures dropped before they were ready: the [sum](Causes::sum) of `causes`.
    pub cancelled: u64,
    /// The cancelled jobs by cause.
    pub causes: Causes,
    /// The cancelled jobs dropped because the queue was full, as in `causes`.
    pub evicted: u64,
    /// Submissions rejected, for any [reason](crate::Reason). They are not accepted jobs, and failed `reserve`s do
    /// not count.
    pub rejected: u64,
    /// Jobs in the queues, and jobs that wait for their turn in a [`Limited`](crate::Limited).
    #[doc(alias = "queued_count")]
    pub queued: u64,
    /// The queued jobs of the class [`High`](crate::Priority::High).
    pub queued_high: u64,
    /// The queued jobs of the class [`Low`](crate::Priority::Low).
    pub queued_low: u64,
    /// The queued jobs that wait for their turn in a [`Limited`](crate::Limited), of any class.
    pub queued_limited: u64,
    /// Jobs started and not ended, including pending futures.
    pub running: u64,
    /// Threads, including threads about to be started.
    pub threads: usize,
    /// Sleeping threads.
    pub idle_threads: usize,
    /// Threads with a job, including blocked threads. The remaining threads sleep, look for a job, or are being
    /// started.
    ///
    /// While futures are pending, a thread that has just ended or taken a job may count for a moment longer, or not
    /// yet.
    #[doc(alias = "active_count")]
    pub busy_threads: usize,
    /// Whether the pool has been closed, shut down or dropped, is about to be, or belongs to the parent of a fork.
    pub is_closed: bool,
    /// An entry for each index up to the highest ever used, by index.
    pub workers: Vec<WorkerMetrics>,
}

/// A line without the workers' counters.
///
/// ```
/// let pool = brigade::Pool::builder().threads(1).name("web").build()?;
/// pool.submit(|| ()).join()?;
/// pool.wait_idle();
/// let line = pool.metrics().to_string();
/// assert!(line.starts_with("pool web: 1 threads, "), "{line}");
/// assert!(line.ends_with("1 returned, 0 panicked, 0 cancelled, 0 running, 0 queued; 0 rejected"), "{line}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, threads, idle_threads, busy_threads, .. } = self;
        if pool.is_empty() {
            return f.write_str("no pool: it no longer exists, or belongs to the parent of a fork");
        }
        let closed = if self.is_closed { ", closed" } else { "" };
        write!(
            f,
            "pool {pool}{closed}: {threads} threads, {idle_threads} idle, {busy_threads} busy; "
        )?;
        let Self { accepted, returned, panicked, cancelled, running, queued, rejected, .. } = self;
        write!(
            f,
            "{accepted} jobs accepted: {returned} returned, {panicked} panicked, {cancelled} cancelled, "
        )?;
        write!(f, "{running} running, {queued} queued; {rejected} rejected")
    }
}

/// The counters of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Jobs run.
    pub run: u64,
    /// Successful steals from other workers, each of a job or several.
    pub stolen: u64,
    /// How often the worker prepared to sleep. If the last look found work, it did not sleep.
    pub parks: u64,
    /// How often the worker was woken.
    pub wakes: u64,
    /// Panics caught on the worker: of jobs, hooks, panic callbacks, and destructors of cancelled jobs. Also panics
    /// of the second closure of a [`join`](crate::join()), or of the body of a scope, if another panic is resumed
    /// instead.
    pub panics: u64,
    /// Jobs on the worker's own queue now.
    pub queued: u64,
    /// How long the worker has been awake: it ran jobs, or looked for jobs. Includes the present job, and jobs that
    /// block. `None` in a pool that does not [observe its jobs][crate::Builder::observe_jobs].
    ///
    /// A later worker with the same index adds to this time. For the load of a worker, divide the difference of two
    /// readings by the time between them.
    #[cfg_attr(not(feature = "observe"), doc = include_str!("../guide/without_observe.md"))]
    #[doc(alias = "total_busy_duration")]
    pub busy: Option<Duration>,
}
