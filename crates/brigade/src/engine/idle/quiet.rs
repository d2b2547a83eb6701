//! Waiting until a pool is idle, and its end. `ENDING.md` has the proof.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

use super::Idle;
use super::roster::Roster;

impl Idle {
    /// Waits until `is_over`, or until the deadline; `false` if the deadline passes first. Code that changes the
    /// condition must [notify](Self::notify) afterwards. The condition is read under the roster's lock.
    pub(crate) fn wait(
        &self,
        deadline: Option<Instant>,
        is_over: impl Fn(&Roster) -> bool,
    ) -> bool {
        let mut roster = self.roster.lock();
        while !is_over(&roster) {
            let left = deadline.map(time::until);
            if left == Some(Duration::ZERO) {
                return false;
            }
            roster = self.changed.wait(roster, left);
        }
        true
    }

    /// Wakes the waiting threads after a condition has changed.
    pub(crate) fn notify(&self) {
        // Without the lock, a thread between check and sleep would miss the notification.
        drop(self.roster.lock());
        self.changed.notify_all();
    }

    /// Waits until the pool is quiet or has terminated; `is_empty` looks at the queues. Returns `false` if the deadline
    /// passes first.
    pub(crate) fn wait_quiet(
        &self,
        deadline: Option<Instant>,
        is_empty: impl Fn() -> bool,
    ) -> bool {
        let begun = self.change(|roster| {
            if roster.is_quiet(&is_empty) {
                return None;
            }
            roster.quiet.waiting += 1;
            Some(roster.quiet.moments)
        });
        let Some(since) = begun else { return true };
        // Work off the pool may have ended before it could see this waiter.
        self.find_quiet(&is_empty);
        let is_over = |roster: &Roster| roster.terminated || roster.quiet.moments != since;
        let was_quiet = self.wait(deadline, is_over);
        self.change(|roster| roster.quiet.waiting -= 1);
        was_quiet
    }

    /// The number of workers that neither park nor search, without new workers yet to look for work.
    pub(crate) fn busy(&self) -> usize {
        let roster = self.roster.lock();
        self.snapshot().running().saturating_sub(roster.starts.list.len())
    }

    /// Notes a quiet moment and wakes the waiting threads, if a thread waits and the pool is quiet.
    ///
    /// Must be called after every change that may have made the pool quiet: a worker parks or leaves, a start fails,
    /// work off the pool ends.
    pub(crate) fn find_quiet(&self, is_empty: impl FnOnce() -> bool) {
        // This load sees every wait that began before the caller's change.
        if !self.latest().quiet_awaited() {
            return;
        }
        let mut roster = self.roster.lock();
        if roster.is_still() && is_empty() {
            roster.quiet.moments += 1;
            self.changed.notify_all();
        }
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
            let ends = may && !roster.waits.are_parked() && !is_unfinished();
            roster.terminated |= ends;
            ends
        })
    }
}
