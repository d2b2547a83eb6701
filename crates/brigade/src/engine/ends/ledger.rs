//! Counts of jobs that ended off the pool.

use brigade_sync::Mutex;
use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicU64;
use brigade_task::Outcome;

use super::off_pool::OffPool;
use crate::engine::queues::injectors::BATCH;
use crate::values::Totals;

/// The jobs that ended off the pool, and the work in progress there.
#[derive(Default)]
pub(in crate::engine) struct Ledger {
    /// The counts.
    pub(in crate::engine) totals: Mutex<Totals>,
    /// Work off the pool.
    pub(in crate::engine) off_pool: OffPool,
    /// How many jobs have ended while queued.
    left: AtomicU64,
    /// How many jobs the pool has rejected.
    rejected: AtomicU64,
    /// The largest number of accepted jobs ever told.
    told: AtomicU64,
}

impl Ledger {
    /// Counts a job that ended.
    pub(in crate::engine) fn count(&self, ran: Outcome) {
        self.totals.lock().count(ran);
    }

    /// Counts `jobs` cancelled jobs.
    pub(in crate::engine) fn count_cancelled(&self, jobs: u64) {
        if jobs > 0 {
            self.totals.lock().cancelled += jobs;
        }
    }

    /// Notes that a queued job has ended off the pool; `true` if it is time to sweep completed entries.
    #[must_use]
    pub(in crate::engine) fn leaves_entry(&self) -> bool {
        (self.left.fetch_add(1, Ordering::Relaxed) + 1) % BATCH as u64 == 0
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

    /// Counts a job dropped because the pool was full.
    pub(in crate::engine) fn count_evicted(&self, outcome: Outcome) {
        let mut totals = self.totals.lock();
        totals.evicted += 1;
        totals.count(outcome);
    }

    /// Whether, at a single moment, no job is being run or dropped off the pool and `is_empty` returns `true`.
    pub(in crate::engine) fn is_idle_and(&self, is_empty: impl FnOnce() -> bool) -> bool {
        let before = self.off_pool.begun_if_idle();
        before.is_some() && is_empty() && self.off_pool.begun_if_idle() == before
    }
}
