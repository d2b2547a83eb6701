//! The counts of jobs: of all jobs of a pool, with the counters of its workers, and of those that ended off the pool.

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicU64;
use brigade_sync::{Mutex, MutexGuard};
use brigade_task::{Cause, Job, Outcome};

use super::off_pool::{OffPool, cancel_contained};
use crate::engine::queues::Queues;
use crate::engine::queues::injectors::SWEEP;
use crate::engine::queues::peers::Peers;
use crate::values::Totals;

/// A job that leaves its line. No memory can hold as many jobs in line.
const LEAVING: u64 = 1 << 48;

/// The jobs that ended off the pool, and the work in progress there.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The counts.
    totals: Mutex<Totals>,
    /// Work off the pool.
    pub(in crate::engine) off_pool: OffPool,
    /// How many jobs have ended while queued.
    left: AtomicU64,
    /// The accepted jobs in no queue: how many wait for the permit of a `Limited`, and how many times [`LEAVING`] do so no longer, and are
    /// about to be queued or dropped.
    unqueued: AtomicU64,
    /// How many jobs the pool has rejected.
    rejected: AtomicU64,
    /// The largest number of accepted jobs ever told.
    told: AtomicU64,
}

impl Ledger {
    /// The counts, under their lock. A job that is not queued is accepted while it is held.
    pub(in crate::engine) fn lock(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock()
    }

    /// Counts a job that ended with this outcome without being queued.
    pub(in crate::engine) fn count_unqueued(&self, outcome: Outcome) {
        let mut totals = self.totals.lock();
        totals.accepted += 1;
        totals.count(outcome);
    }

    /// Cancels a job as the pool ends.
    pub(in crate::engine) fn drop_job(&self, job: Job) {
        self.count(cancel_contained(job, Cause::Ended));
    }

    /// The numbers of ended jobs, on the workers and off them.
    pub(in crate::engine) fn ended(&self, peers: &Peers) -> Totals {
        let mut totals = *self.totals.lock();
        totals.panicked += peers.sum(&|counters| counters.panicked.get());
        totals.returned += peers.sum(&|counters| counters.returned.get());
        for cause in Cause::ALL {
            let jobs = peers.sum(&|counters| counters.cancelled[cause as usize].get());
            totals.cancelled.add(cause, jobs);
        }
        totals
    }

    /// The number of accepted jobs. `wakes` returns how often futures have been queued again from outside.
    pub(in crate::engine) fn accepted(&self, queues: &Queues, wakes: impl FnOnce() -> u64) -> u64 {
        let pushed = queues.pushed();
        let accepted = pushed + queues.peers.sum(&|counters| counters.accepted.get());
        let accepted = accepted + self.totals.lock().accepted;
        // Last: a job that leaves its line is counted here first.
        let again = queues.peers.sum(&|counters| counters.moved.get()) + wakes();
        accepted.saturating_sub(again) + self.limited()
    }

    /// Counts an accepted job that waits for the permit of a `Limited`.
    pub(crate) fn begin_limited(&self) {
        // Ordering: SeqCst, here and below: a single order with the reads of `has_unqueued`.
        self.unqueued.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a job that does so no longer, before it is counted elsewhere: no reading counts it twice.
    pub(in crate::engine) fn leave_line(&self) {
        self.unqueued.fetch_add(LEAVING - 1, Ordering::SeqCst);
    }

    /// Counts a job that has left its line as queued, or as ended.
    pub(in crate::engine) fn end_leaving(&self) {
        self.unqueued.fetch_sub(LEAVING, Ordering::SeqCst);
    }

    /// How many jobs wait for the permit of a `Limited`.
    pub(in crate::engine) fn limited(&self) -> u64 {
        self.unqueued.load(Ordering::SeqCst) % LEAVING
    }

    /// Whether an accepted job is in no queue, because it waits for the permit of a `Limited`, or has just got one. To be asked before the
    /// queues are looked at.
    pub(in crate::engine) fn has_unqueued(&self) -> bool {
        self.unqueued.load(Ordering::SeqCst) > 0
    }

    /// Counts a job that ended.
    pub(crate) fn count(&self, ran: Outcome) {
        self.totals.lock().count(ran);
    }

    /// Counts `jobs` jobs cancelled by handles.
    pub(in crate::engine) fn count_cancelled(&self, jobs: u64) {
        if jobs > 0 {
            self.totals.lock().cancelled.asked += jobs;
        }
    }

    /// Notes that a queued job has ended off the pool; `true` if it is time to sweep completed entries.
    #[must_use]
    pub(in crate::engine) fn leaves_entry(&self) -> bool {
        (self.left.fetch_add(1, Ordering::Relaxed) + 1) % (SWEEP / 2) as u64 == 0
    }

    /// Counts rejected jobs.
    pub(in crate::engine) fn count_rejected(&self, jobs: u64) {
        self.rejected.fetch_add(jobs, Ordering::Relaxed);
    }

    /// The number of rejected jobs.
    pub(in crate::engine) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Tells how many jobs the pool has accepted; returns the largest number ever told.
    pub(in crate::engine) fn tell(&self, accepted: u64) -> u64 {
        self.told.fetch_max(accepted, Ordering::Relaxed).max(accepted)
    }

    /// Whether, at a single moment, no accepted job is in no queue; no job is being run or dropped off the pool, or only such that `waits`; and
    /// `is_empty` returns `true`.
    pub(in crate::engine) fn is_over_and(&self, waits: bool, is_empty: &dyn Fn() -> bool) -> bool {
        let before = self.off_pool.begun_if_over(waits);
        before.is_some()
            && !self.has_unqueued()
            && is_empty()
            && self.off_pool.begun_if_over(waits) == before
    }
}
