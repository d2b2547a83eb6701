//! Waiting until a pool is idle, and its end. `ENDING.md` has the proof.

use std::task::Waker;

use crate::engine::idle::Idle;
use crate::engine::roster::Roster;

impl Idle {
    /// Returns whether `is_over`, read under the roster's lock. If not, and given a waker, wakes it after the next change.
    /// Code that changes the condition must [notify](Self::notify) afterwards.
    pub(crate) fn watch(
        &self,
        waker: Option<Waker>,
        is_over: impl FnOnce(&Roster) -> bool,
    ) -> bool {
        let mut roster = self.roster.lock();
        let is_over = is_over(&roster);
        match waker {
            Some(waker) if !is_over => {
                roster.watching.retain(|other| !other.will_wake(&waker));
                roster.watching.push(waker);
            }
            _ => {}
        }
        is_over
    }

    /// Wakes the waiting threads after a condition has changed.
    pub(crate) fn notify(&self) {
        // Under the lock: a thread between check and sleep would miss the notification.
        let count = self.roster.lock().watching.len();
        self.changed.notify_all();
        // One by one: the list keeps its memory, and no waker is called under the lock.
        for _ in 0..count {
            let mut roster = self.roster.lock();
            if roster.watching.is_empty() {
                return;
            }
            let waker = roster.watching.remove(0);
            drop(roster);
            waker.wake();
        }
    }

    /// Begins a wait until the pool is quiet or has terminated; `is_empty` looks at the queues. Returns `None` if it is
    /// already.
    pub(crate) fn begin_quiet(&self, is_empty: &dyn Fn() -> bool) -> Option<u64> {
        let begun = self.change(|roster| {
            if roster.is_quiet(is_empty) {
                return None;
            }
            roster.quiet.waiting += 1;
            Some(roster.quiet.moments)
        });
        // Work off the pool may have ended before it could see this waiter.
        begun.inspect(|_| self.find_quiet(is_empty))
    }

    /// The number of workers; of those that are parked; and of those that neither park nor search, without new workers yet to
    /// look for work.
    pub(crate) fn census(&self) -> (usize, usize, usize) {
        let roster = self.roster.lock();
        let (seen, guests) = (self.snapshot(), roster.guests());
        let busy = seen.running().saturating_sub(roster.starts.list.len() + guests);
        (seen.live() - guests, seen.parked(), busy)
    }

    /// Notes a quiet moment and wakes the waiting threads, if a thread waits and the pool is quiet.
    ///
    /// Must be called after every change that may have made the pool quiet: a worker parks or leaves, a start fails,
    /// work off the pool ends.
    pub(crate) fn find_quiet(&self, is_empty: &dyn Fn() -> bool) {
        // This load sees every wait that began before the caller's change.
        if !self.latest().quiet_awaited() {
            return;
        }
        let mut roster = self.roster.lock();
        if roster.is_quiet(is_empty) {
            roster.quiet.moments += 1;
            drop(roster);
            self.notify();
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
