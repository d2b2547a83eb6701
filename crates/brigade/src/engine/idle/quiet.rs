//! Waiting until a pool is idle, and its end. `ENDING.md` has the proof.

use super::Idle;

/// The next step of a thread that begins to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wait {
    /// No wait: the pool is quiet, or has terminated.
    Over,
    /// Wait until the number of quiet moments differs from this number.
    Since(u64),
}

impl Idle {
    /// Begins to wait, unless the pool is quiet; `is_empty` looks at the queues. Each wait must be
    /// [ended](Self::end_wait).
    pub(crate) fn begin_wait(&self, is_empty: impl FnOnce() -> bool) -> Wait {
        self.change(|roster| {
            if roster.terminated || (roster.is_still() && is_empty()) {
                return Wait::Over;
            }
            roster.quiet.waiting += 1;
            Wait::Since(roster.quiet.moments)
        })
    }

    /// Ends the wait of a thread.
    pub(crate) fn end_wait(&self) {
        self.change(|roster| roster.quiet.waiting -= 1);
    }

    /// Whether the pool has been quiet since this moment, or has terminated.
    pub(crate) fn was_quiet(&self, since: u64) -> bool {
        let roster = self.roster.lock();
        roster.terminated || roster.quiet.moments != since
    }

    /// Whether the pool is quiet now, or has terminated.
    pub(crate) fn is_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        let roster = self.roster.lock();
        roster.terminated || (roster.is_still() && is_empty())
    }

    /// The number of workers that neither park nor search, without new workers yet to look for work.
    pub(crate) fn busy(&self) -> usize {
        let roster = self.roster.lock();
        self.snapshot().running().saturating_sub(roster.starts.list.len())
    }

    /// Notes a quiet moment, if a thread waits and the pool is quiet; returns whether it did. The caller must then
    /// wake the waiting threads.
    ///
    /// Must be called after every change that may have made the pool quiet: a worker parks or leaves, a start fails,
    /// work off the pool ends.
    #[must_use]
    pub(crate) fn find_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        // This load sees every wait that began before the caller's change.
        if !self.latest().quiet_awaited() {
            return false;
        }
        let mut roster = self.roster.lock();
        let found = roster.is_still() && is_empty();
        roster.quiet.moments += u64::from(found);
        found
    }

    /// Keeps the pool from being idle or terminated until [`end_parked_wait`](Self::end_parked_wait), for a job
    /// that waits while its worker parks. `is_own` says whether the job waits only for jobs of this pool.
    pub(crate) fn begin_parked_wait(&self, is_own: bool) {
        let waits = &mut self.roster.lock().waits;
        waits.parked += 1;
        waits.own_parked += usize::from(is_own);
    }

    /// Ends a [wait](Self::begin_parked_wait).
    pub(crate) fn end_parked_wait(&self, is_own: bool) {
        let waits = &mut self.roster.lock().waits;
        waits.parked -= 1;
        waits.own_parked -= usize::from(is_own);
    }

    /// Whether a job waits whose worker may be parked. The state does not show such jobs.
    pub(crate) fn has_parked_waits(&self) -> bool {
        self.roster.lock().waits.parked > 0
    }

    /// Whether some jobs of the pool wait for other jobs of the pool, and no worker does anything else.
    pub(crate) fn only_waits(&self) -> bool {
        self.roster.lock().only_waits()
    }

    /// Terminates the pool, so that all workers leave, if it is closed and all workers are parked; `true` for
    /// the single call that terminates it.
    ///
    /// Does not terminate it while `is_unfinished` says that the pool waits for something. It is asked while no
    /// worker can stop being parked: a driver holder that wakes a future, runs it and parks again leaves no
    /// moment at which the future's next wait is missed.
    ///
    /// The caller has found nothing queued since the pool was closed, and must wake all workers.
    #[must_use]
    pub(crate) fn terminate(&self, is_unfinished: impl FnOnce() -> bool) -> bool {
        self.change(|roster| {
            let now = self.latest();
            let may = now.closed() && !now.terminated() && now.all_parked();
            // The worker of a waiting job parks again once the job has ended.
            let ends = may && roster.waits.parked == 0 && !is_unfinished();
            roster.terminated |= ends;
            ends
        })
    }
}
