//! Counts of the jobs of a pool that ended elsewhere than on its workers.

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicU64;
use brigade_sync::{Mutex, MutexGuard};
use brigade_task::Outcome;

use super::off_pool::OffPool;
use crate::metrics::Totals;

/// How many entries of completed jobs may be left in queues before these are swept out.
const MAX_STALE: u64 = 64;

/// Jobs that ended elsewhere than on a worker, and those that are run or dropped there now.
#[derive(Default)]
pub(super) struct Ledger {
    totals: Mutex<Totals>,
    off_pool: OffPool,
    /// How many jobs have ended while they were queued.
    left: AtomicU64,
}

impl Ledger {
    /// What is counted here, for as long as no more is.
    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock()
    }

    /// Counts a job that ended.
    pub(super) fn count(&self, ran: Outcome) {
        self.totals.lock().count(ran);
    }

    /// Counts this many cancelled jobs.
    pub(super) fn count_cancelled(&self, jobs: u64) {
        if jobs > 0 {
            self.totals.lock().cancelled += jobs;
        }
    }

    /// A job that is queued has ended elsewhere than on a worker; `true` if it is time to sweep what such jobs leave in the
    /// queues.
    #[must_use]
    pub(super) fn leaves_entry(&self) -> bool {
        self.left.fetch_add(1, Ordering::Relaxed) % MAX_STALE == MAX_STALE - 1
    }

    /// Counts a job that was dropped because the pool was full.
    pub(super) fn count_evicted(&self, is_counted_by_itself: bool) {
        let mut totals = self.totals.lock();
        totals.evicted += 1;
        totals.cancelled += u64::from(!is_counted_by_itself);
    }

    /// Work elsewhere than on a worker.
    pub(super) fn off_pool(&self) -> &OffPool {
        &self.off_pool
    }

    /// Whether no thread runs or drops a job elsewhere than on a worker.
    pub(super) fn is_idle(&self) -> bool {
        self.off_pool.is_idle()
    }

    /// Whether none does, and what `is_empty` says; both at one moment.
    pub(super) fn is_idle_and(&self, is_empty: impl FnOnce() -> bool) -> bool {
        let before = self.off_pool.begun_if_idle();
        before.is_some() && is_empty() && self.off_pool.begun_if_idle() == before
    }
}
