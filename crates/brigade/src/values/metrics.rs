//! Counters, always on, each written by a single thread.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_sync::time;
use brigade_task::Outcome;

/// The counters of a worker, which alone writes them.
#[derive(Default)]
pub(crate) struct Counters {
    /// Jobs that returned on it.
    pub(crate) returned: Counter,
    /// Jobs that panicked on it.
    pub(crate) panicked: Counter,
    /// Panics caught on it: those of jobs, hooks, callbacks and destructors.
    pub(crate) panics: Counter,
    /// Jobs dropped on it because the pool was being discarded.
    pub(crate) cancelled: Counter,
    /// Successful steals, each of a job or several.
    pub(crate) stolen: Counter,
    /// How often it announced itself as parked.
    pub(crate) parks: Counter,
    /// How often it was woken by another thread.
    pub(crate) wakes: Counter,
    /// Jobs accepted on its own queue.
    pub(crate) accepted: Counter,
    /// Jobs moved from its own queue to the injector, and futures queued on it again; counted before they are moved or queued.
    pub(crate) moved: Counter,
    /// How long it has been awake.
    pub(crate) awake: Awake,
}

/// How long a worker has been awake. The clock is read only where it falls asleep and wakes up.
pub(crate) struct Awake {
    begin: Instant,
    /// Nanoseconds up to its last sleep; while it is awake, less the time of its waking, and so below zero (as two's complement).
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

    pub(crate) fn wakes_up(&self) {
        self.add(self.now().wrapping_neg());
    }

    pub(crate) fn falls_asleep(&self) {
        self.add(self.now());
    }

    fn add(&self, nanos: u64) {
        // Ordering: Relaxed: the worker alone writes it, and it orders nothing.
        let sum = self.nanos.load(Ordering::Relaxed).wrapping_add(nanos);
        self.nanos.store(sum, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        let nanos = self.nanos.load(Ordering::Relaxed);
        let is_awake = (nanos as i64) < 0;
        Duration::from_nanos(if is_awake { nanos.wrapping_add(self.now()) } else { nanos })
    }
}

/// A number that a single thread writes and any thread reads.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds; by the owner only, so no read-modify-write.
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        // Ordering: Release pairs with the Acquire in `get`: a reader that sees an outcome counted also sees its job
        // accepted.
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Release);
    }

    /// Subtracts what was added in excess; by the owner only.
    pub(crate) fn take_back(&self, less: u64) {
        // Ordering: as in `add`.
        self.0.store(self.0.load(Ordering::Relaxed) - less, Ordering::Release);
    }

    /// Reads.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Counts of jobs that did not end on a worker: run in their caller, or dropped.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    /// Jobs that were accepted without being queued. The others are counted where they were queued.
    pub(crate) accepted: u64,
    pub(crate) returned: u64,
    pub(crate) panicked: u64,
    pub(crate) cancelled: u64,
    /// The cancelled jobs that were dropped because the queue was full.
    pub(crate) evicted: u64,
}

impl Totals {
    /// Counts a job that ended.
    pub(crate) fn count(&mut self, ran: Outcome) {
        match ran {
            Outcome::Returned => self.returned += 1,
            Outcome::Panicked => self.panicked += 1,
            Outcome::Cancelled => self.cancelled += 1,
            Outcome::Stale | Outcome::Polled => {}
        }
    }
}

/// The counters of a pool; see [`Handle::metrics`](crate::Handle::metrics).
///
/// `accepted = returned + panicked + cancelled + queued + running`, always; each number is exact when nothing runs, and may
/// be slightly out of date otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Jobs accepted. Never less than was read before.
    pub accepted: u64,
    /// Jobs that returned.
    pub returned: u64,
    /// Jobs that panicked.
    pub panicked: u64,
    /// Jobs dropped before they started, and futures dropped before they were ready.
    pub cancelled: u64,
    /// The cancelled jobs that were dropped because the queue was full.
    pub evicted: u64,
    /// Submissions rejected, for any [reason](crate::Reason). They are not accepted jobs, and failed `reserve`s do not count.
    pub rejected: u64,
    /// Jobs that are queued.
    pub queued: u64,
    /// The queued jobs of the class [`High`](crate::Priority::High).
    pub queued_high: u64,
    /// The queued jobs of the class [`Low`](crate::Priority::Low).
    pub queued_low: u64,
    /// Jobs that have started and not ended, including pending futures.
    pub running: u64,
    /// Threads, including those that are about to be started.
    pub threads: usize,
    /// The threads that sleep.
    pub idle_threads: usize,
    /// The threads that have a job, blocked threads included. The others sleep, look for a job, or are being started.
    ///
    /// As long as futures are pending, a thread may count for a moment longer, or not yet, when it has just ended or taken a job.
    pub busy_threads: usize,
    /// Whether the pool has been closed, shut down or dropped, is about to be, or belongs to the parent of a fork.
    pub is_closed: bool,
    /// One entry for each index up to the highest that has ever had a worker, by index.
    pub workers: Vec<WorkerMetrics>,
}

/// The counters of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Jobs run.
    pub run: u64,
    /// Successful steals from other workers, each of a job or several.
    pub stolen: u64,
    /// How often it fell asleep.
    pub parks: u64,
    /// How often it was woken.
    pub wakes: u64,
    /// Panics caught on it: jobs, hooks and panic callbacks; and those of the second closure of a [`join`](crate::join()), or of
    /// the body of a scope, that are not resumed, as another one is.
    pub panics: u64,
    /// Jobs on its own queue now.
    pub queued: u64,
    /// How long it has not slept: it ran jobs, or looked for them. Includes the present job, and jobs that block.
    ///
    /// A worker with this index that is started later adds to it. For the load of a worker, divide the difference of two readings
    /// by the time between them. A [`LocalPool`](crate::LocalPool) is busy in calls of its owner.
    #[doc(alias = "total_busy_duration")]
    pub busy: Duration,
}
