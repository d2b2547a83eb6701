//! Waiting until a pool is idle, and its end. `ENDING.md` has the proof.

use super::Idle;

/// What a thread that begins to wait must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wait {
    /// Nothing: the pool is quiet, or has terminated.
    Over,
    /// Wait until the number of quiet moments is no longer this.
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

    /// Whether the pool has been quiet since that moment, or has terminated.
    pub(crate) fn was_quiet(&self, since: u64) -> bool {
        let roster = self.roster.lock();
        roster.terminated || roster.quiet.moments != since
    }

    /// Whether the pool is quiet now, or has terminated.
    pub(crate) fn is_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        let roster = self.roster.lock();
        roster.terminated || (roster.is_still() && is_empty())
    }

    /// How many workers neither park nor search, not counting those that have not looked for work yet.
    pub(crate) fn busy(&self) -> usize {
        let roster = self.roster.lock();
        self.snapshot().running().saturating_sub(roster.starts.len())
    }

    /// Notes a quiet moment if there is one and a thread waits; returns whether there is, and then the caller must wake the threads that wait.
    ///
    /// Called after everything that may have made the pool quiet: a worker that parks or leaves, a start that fails, work that
    /// ends off the pool.
    #[must_use]
    pub(crate) fn find_quiet(&self, is_empty: impl FnOnce() -> bool) -> bool {
        // A wait that began before the caller's change is seen.
        if !self.latest().quiet_awaited() {
            return false;
        }
        let mut roster = self.roster.lock();
        let found = roster.is_still() && is_empty();
        roster.quiet.moments += u64::from(found);
        found
    }

    /// Keeps the pool from being idle, and from its end, for a worker that parks in the middle of a wait until
    /// [`end_parked_wait`](Self::end_parked_wait). `is_own` says whether it waits for jobs of this pool only.
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

    /// Whether a job of a worker that may be parked waits, of which the state shows nothing.
    pub(crate) fn has_parked_waits(&self) -> bool {
        self.roster.lock().waits.parked > 0
    }

    /// Whether the pool's jobs wait for others of its jobs, and no worker does anything else.
    pub(crate) fn only_waits(&self) -> bool {
        self.roster.lock().only_waits()
    }

    /// Terminates the pool, so that all workers leave, if it is closed and all are parked; `true` for the one call that did.
    ///
    /// Not while `is_unfinished` says that the pool waits for something. That is asked while no worker can stop being parked: a
    /// driver holder that wakes a future, runs it and parks again leaves no moment at which what it waits for next is missed.
    ///
    /// The caller has found nothing queued since it was closed, and must wake all of them.
    #[must_use]
    pub(crate) fn terminate(&self, is_unfinished: impl FnOnce() -> bool) -> bool {
        self.change(|roster| {
            let now = self.latest();
            let may = now.closed() && !now.terminated() && now.all_parked();
            // A worker whose job waits parks again once that has ended.
            let ends = may && roster.waits.parked == 0 && !is_unfinished();
            roster.terminated |= ends;
            ends
        })
    }
}
