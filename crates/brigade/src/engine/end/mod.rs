//! The end of a pool, and what it waits for: jobs that run or are dropped off the pool, pending futures, timers.
//! `ENDING.md` has the proof.

mod close;
pub(super) mod ledger;
pub(super) mod off_pool;
mod quiet;

use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::{Defer, hint, time};
use brigade_task::drop_contained;
use off_pool::{Nested, drop_off_pool, drop_value_off_pool, nest};

use crate::engine::key::Key;
use crate::engine::queues::peers::Peer;
use crate::engine::shared::Shared;
use crate::engine::timers::entry::Entry;
use crate::engine::worker::is_worker_of;
use crate::values::Shutdown;

/// A piece of work off the pool, until it is dropped.
pub(crate) struct OffPoolWork<'a>(&'a Shared);

impl Drop for OffPoolWork<'_> {
    fn drop(&mut self) {
        let Self(work) = self;
        work.ledger.off_pool.end();
        work.try_finish();
        work.look_for_quiet();
        work.tell_of_end();
    }
}

/// A job between the line of a `Limited` and a queue of the pool, or its end, until this is dropped.
pub(crate) struct Leaving<'a>(&'a Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let Self(shared) = self;
        shared.ledger.end_leaving();
        // The pool may have looked while it waited for this job.
        shared.try_terminate();
    }
}

/// Work of a pool on this thread's stack, until it is dropped.
pub(crate) struct NestedWork<'a> {
    // First, so that the end of the work is counted last.
    _nested: Nested,
    /// If the pool counts it.
    _work: Option<OffPoolWork<'a>>,
}

impl NestedWork<'_> {
    /// Work that the pool does not count.
    pub(in crate::engine) fn uncounted(key: Key) -> Self {
        Self { _nested: nest(key, false), _work: None }
    }
}

impl Shared {
    /// Whether nothing is queued, and no job is being run or dropped off the pool.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.ledger.is_over_and(false, &|| self.has_nothing_queued())
    }

    fn has_nothing_queued(&self) -> bool {
        !self.queues.has_work() && !self.queues.has_mail()
    }

    /// If the pool is quiet, wakes the threads waiting for this. If only jobs that wait for pending futures are left of a
    /// closed pool, cancels these.
    pub(in crate::engine) fn look_for_quiet(&self) {
        if self.is_held_up() {
            self.cancel_waiting();
        }
        self.idle.find_quiet(&|| self.is_empty());
    }

    /// Begins to run or drop jobs of the pool off the pool. The end of the pool and `wait_idle` wait until the returned value is
    /// dropped.
    pub(crate) fn off_pool(&self) -> NestedWork<'_> {
        let work = self.begin_off_pool();
        NestedWork { _nested: nest(self.key, true), _work: Some(work) }
    }

    /// As [`At::leave_line`](crate::engine::At::leave_line).
    pub(crate) fn leave_line(&self) -> Leaving<'_> {
        self.ledger.leave_line();
        Leaving(self)
    }

    /// Counts a piece of work off the pool from now on, for the job being accepted.
    pub(in crate::engine) fn begin_off_pool(&self) -> OffPoolWork<'_> {
        self.ledger.off_pool.begin();
        OffPoolWork(self)
    }

    /// Wakes the threads waiting for the last work off the pool, which may outlive the workers.
    #[inline]
    pub(in crate::engine) fn tell_of_end(&self) {
        if self.idle.snapshot().terminated() {
            self.tell();
        }
    }

    #[cold]
    fn tell(&self) {
        self.idle.notify();
        self.drop_hooks();
    }

    /// Whether a future that is pending is cancelled now. A pool that drains polls futures as long as a closure runs, and
    /// then those for which a job of the pool waits.
    #[inline]
    pub(crate) fn cuts(&self, is_awaited: impl FnOnce() -> bool) -> bool {
        let seen = self.idle.snapshot();
        seen.cuts_futures() && (seen.discards() || (self.runs_no_closure() && !is_awaited()))
    }

    /// Whether the pool drains, and runs no closure but closures that wait for other jobs of the pool.
    #[cold]
    fn runs_no_closure(&self) -> bool {
        if !self.idle.snapshot().notes_polls() {
            self.idle.note_polls();
        }
        self.ledger.off_pool.is_over(true)
            && self.idle.roster().only_waits_or_polls(self.tasks.polling())
    }

    /// Whether there are futures, or work off the pool, which may outlive the workers.
    pub(in crate::engine) fn has_late_work(&self) -> bool {
        !self.ledger.off_pool.is_over(false) || !self.tasks.is_empty()
    }

    /// Whether the pool and its threads have ended, and no work off the pool is left.
    pub(in crate::engine) fn is_over(&self) -> bool {
        self.idle.roster().have_all_left() && !self.has_late_work()
    }

    /// If the pool has ended, drops the hooks: the pool may be kept in memory by threads that have used it.
    pub(in crate::engine) fn drop_hooks(&self) {
        if self.hooks.lock().is_none() || !self.is_over() {
            return;
        }
        // A thread that waits for the end of the pool waits for this, too.
        let _work = self.off_pool();
        let hooks = self.hooks.lock().take();
        drop_contained(hooks);
        if let Some(observer) = &self.observer {
            observer.end(Some(time::now()));
        }
    }

    /// Whether the pool drains, and is held up only by jobs, and work off the pool, that wait for the pool's own pending futures.
    /// Checked before a worker sleeps, when the pool has been closed, and when work off the pool has ended.
    #[inline]
    pub(in crate::engine) fn is_held_up(&self) -> bool {
        let seen = self.idle.snapshot();
        seen.cuts_futures() && !seen.discards() && self.only_waits()
    }

    #[cold]
    fn only_waits(&self) -> bool {
        self.idle.roster().only_waits()
            && self.ledger.is_over_and(true, &|| self.has_nothing_queued())
            && self.tasks.has_waiting()
    }

    /// Changes the state; returns the ended timers, which the caller must give up.
    pub(in crate::engine) fn close_gate(&self, how: Shutdown, if_open: bool) -> Vec<Entry> {
        // Several closers take turns.
        let _gate = self.tasks.lock_gate();
        if if_open && self.is_closed() {
            return Vec::new();
        }
        let finishes = how == Shutdown::Finish && (!self.is_closed() || self.tasks.finishes());
        // Both before the state: a thread that finds the pool closed also finds how, and sets no timer.
        self.tasks.set_finishes(finishes);
        let ended = self.events.timers.close(finishes);
        self.idle.close(how);
        ended
    }

    /// If all workers are parked and nothing is queued, wakes the threads waiting for this, and ends the pool
    /// if it is closed.
    ///
    /// Called after each change that may have made this true: a worker parks or leaves, a start fails, the
    /// pool is closed.
    pub(in crate::engine) fn try_terminate(&self) {
        self.look_for_quiet();
        let state = self.idle.snapshot();
        if state.terminated() {
            return self.end_waiting();
        }
        // Ordering: the queues are read after the state. `terminate` below requires that nothing has been
        // queued *since the pool was closed*; an older state says nothing about this.
        fence(Ordering::SeqCst);
        if !state.all_parked() || self.queues.has_work() {
            // A worker runs, or a submitter is about to wake one: the last worker to park calls this again.
            return;
        }
        // If the pool was open at that read, the closing thread tries later.
        if state.closed() && self.terminate() {
            self.look_for_quiet();
            for (index, _) in self.queues.peers.iter() {
                self.wake(index);
            }
            self.idle.notify();
        }
        self.end_waiting();
    }

    /// Terminates the pool if nothing is queued; `true` for the one call that did.
    fn terminate(&self) -> bool {
        let _gate = self.tasks.lock_gate();
        // The mailboxes are read in the same step: a broadcast may fill the mailbox of a worker about to
        // park.
        !self.ledger.has_unqueued()
            && !self.queues.has_work()
            && self.idle.terminate(|| self.queues.has_mail() || self.is_unfinished())
    }

    /// Whether the pool waits for futures or timers before it ends. A first poll off the pool may leave a
    /// waiting future.
    fn is_unfinished(&self) -> bool {
        self.tasks.finishes() && (self.events.timers.has_closures() || self.has_late_work())
    }

    /// Tries to terminate the pool after a future or a timer has ended off the pool: the end of the pool may have waited for it.
    pub(in crate::engine) fn try_finish(&self) {
        if self.tasks.finishes() && self.is_closed() {
            self.try_terminate();
        }
    }

    /// Cancels the futures that wait, and wakes those being polled. A pool that discards refuses wakes, which leave the futures to this
    /// thread: it drops them, and those that are queued.
    pub(in crate::engine) fn cancel_waiting(&self) {
        let refuses = self.idle.snapshot().discards();
        self.tasks.for_each(&|task| match refuses {
            false => task.cancel_waiting(),
            true => drop_value_off_pool(self.key, Box::new(Defer(move || task.end()))),
        });
    }

    /// If the pool has ended, cancels the pending futures, because nothing polls them any more, and ends
    /// timers and I/O.
    ///
    /// Does nothing on a worker, where jobs submitted by the drops would be queued and never run. A leaving
    /// worker calls this later.
    pub(in crate::engine) fn end_waiting(&self) {
        if !is_worker_of(self.key) && self.idle.snapshot().terminated() {
            // First: the destructor of a future may wait for a timer or an event, which no worker would
            // handle any more.
            self.events.end();
            if !self.tasks.is_empty() {
                self.cancel_waiting();
            }
            self.drop_hooks();
        }
    }

    /// Cancels the futures that wait, if the pool refuses wakes: nothing polls them any more.
    #[inline]
    pub(in crate::engine) fn cancel_refused(&self) {
        if self.idle.snapshot().discards() {
            self.cancel_waiting();
        }
    }

    /// Cancels the local futures of a worker, on its thread, which is no longer a worker.
    ///
    /// Jobs submitted by the drops go to the pool from outside; on the worker's queue they would stay
    /// forever.
    pub(in crate::engine) fn cancel_locals(&self, peer: &Peer) {
        // First, for the reason given there.
        self.end_waiting();
        let mut round = 0;
        while peer.mailbox.has_locals() {
            self.cancel_waiting();
            let mut has_any = false;
            while let Some((_, job)) = peer.mailbox.take() {
                has_any = true;
                drop_off_pool(self.key, job);
            }
            if !has_any {
                // Another thread has woken the last future, and is about to send it.
                hint::snooze(round);
                round += 1;
            }
        }
    }
}
