//! How a pool comes to rest, and its end.
//!
//! Open, then closed, then terminated. `close` refuses work from outside; the workers continue as always. The thread that
//! finds all workers parked and nothing queued, after that, terminates the pool: the last worker to park, or the closer if
//! they were parked already. Nothing can be accepted from then on, as only running workers still could, and there is none.
//!
//! The injectors are closed one after the other, each in one step with the pushes to it: a push is accepted or refused for
//! good. Meanwhile one producer's job may be rejected and another's still accepted. The state is changed last, so no job is
//! accepted from a thread that has seen the pool closed.

use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use brigade_sync::atomic::{Ordering, fence};
use brigade_task::{Job, Outcome, drop_contained};

use super::core::Core;
use super::current;
use super::off_pool::{is_off_pool, nest};
use crate::config::Shutdown;
use crate::idle::Wait;
use crate::timers::{Entry, TimerKey};

impl Core {
    /// Whether the calling thread may wait until the pool is idle. It would wait for itself if it runs or drops a job, or is
    /// in the user's spawner: the thread that this must start counts as running until it returns.
    pub(crate) fn may_wait_idle(&self) -> bool {
        !current::is_worker_of(self.key) && !is_off_pool(self.key) && !self.idle.is_starter()
    }

    /// Waits until nothing is queued and nothing runs, for `timeout` at most; `false` if that is over. Not on a thread that
    /// [may not](Self::may_wait_idle).
    pub(crate) fn wait_idle(&self, timeout: Option<Duration>) -> bool {
        if timeout == Some(Duration::ZERO) {
            return self.idle.is_quiet(|| self.is_empty());
        }
        // A deadline too far to be represented is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let Wait::Since(quiets) = self.idle.begin_wait(|| self.is_empty()) else { return true };
        // Work elsewhere than on a worker may have ended before it could see that we wait.
        self.look_for_quiet();
        let was_quiet = self.rest.wait_until(deadline, || self.idle.was_quiet(quiets));
        self.idle.end_wait();
        was_quiet
    }

    /// Whether nothing is queued, and no job is run or dropped elsewhere than on a worker.
    fn is_empty(&self) -> bool {
        self.ledger.is_idle_and(|| !self.queues.has_work() && !self.queues.has_mail())
    }

    /// Wakes the threads that wait if the pool is quiet.
    pub(super) fn look_for_quiet(&self) {
        if self.idle.find_quiet(|| self.is_empty()) {
            self.rest.notify();
        }
    }

    /// Calls what runs or drops a job on this thread, which is no worker of the pool. The pool's end, and a wait until it is
    /// idle, wait for that.
    pub(crate) fn off_pool<R>(&self, work: impl FnOnce() -> R) -> R {
        let _work = self.begin_off_pool();
        nest(self.key, work)
    }

    /// Counts such work from now on: a job is accepted for it.
    pub(super) fn begin_off_pool(&self) -> OffPoolWork<'_> {
        self.ledger.off_pool().begin();
        OffPoolWork(self)
    }

    /// Wakes the threads that wait for the last of the work that may outlive the workers.
    pub(super) fn tell_of_end(&self) {
        if self.idle.snapshot().terminated() {
            self.rest.notify();
        }
    }

    /// Accepts nothing from outside from now on; `Discard` accepts nothing at all and drops what is queued. A pool that was
    /// closed before is not closed in a milder way.
    pub(crate) fn close(&self, how: Shutdown) {
        self.queues.injectors.close();
        drop(self.events.timers.close(self.close_gate(how)));
        // A job that is accepted without being queued has been by now, or its submitter sees that it is too late.
        drop(self.ledger.totals());
        if let Some(permits) = self.permits() {
            permits.wake_outsiders();
        }
        // A pool whose last thread could not be started may still have jobs.
        let stranded =
            self.idle.snapshot().live() == 0 && self.queues.has_work() && self.reserve().is_err();
        if how == Shutdown::Discard || stranded {
            self.drop_queued();
        }
        self.settle();
    }

    /// Changes the state; returns whether the pool finishes what it has accepted before it ends.
    fn close_gate(&self, how: Shutdown) -> bool {
        // Of several closers, one after the other.
        let _gate = self.tasks.lock_gate();
        let finishes = how == Shutdown::Finish && (!self.is_closed() || self.tasks.finishes());
        // Set first: a thread that finds the pool closed finds how.
        self.tasks.set_finishes(finishes);
        self.idle.close(how == Shutdown::Discard);
        finishes
    }

    /// Whether nothing is accepted from outside any more.
    pub(crate) fn is_closed(&self) -> bool {
        // The state is changed last, so a thread that sees it finds all of it in force.
        self.idle.snapshot().closed()
    }

    /// Drops all jobs that are queued. Workers drop what they find meanwhile.
    fn drop_queued(&self) {
        self.off_pool(|| {
            while let Some(job) = self.queues.take_oldest() {
                self.drop_job(job);
            }
        });
    }

    /// Counts a job as accepted that will not be queued.
    pub(crate) fn count_accepted(&self) {
        self.ledger.totals().accepted += 1;
    }

    /// Counts a job that was cancelled by its handle elsewhere than on a worker.
    pub(crate) fn count_cancelled(&self) {
        self.ledger.count_cancelled(1);
        self.leaves_entry();
    }

    /// A job that is queued has ended elsewhere than on a worker.
    pub(crate) fn leaves_entry(&self) {
        if self.ledger.leaves_entry() {
            self.sweep();
        }
    }

    pub(super) fn drop_job(&self, job: Job) {
        if cancel_contained(job) {
            self.ledger.count_cancelled(1);
        }
    }

    /// Sweeps completed entries out of the injectors.
    pub(super) fn sweep(&self) {
        self.ledger.count_cancelled(self.queues.sweep());
        // A worker that looked meanwhile may have found that there is work, and gone on in vain.
        self.settle();
    }

    /// If all workers are parked and nothing is queued: wakes the threads that wait for that, and ends the pool if it is
    /// closed.
    ///
    /// Called after each change that may have made that true: a worker parks or leaves, a start fails, the pool is closed.
    pub(super) fn settle(&self) {
        self.look_for_quiet();
        let state = self.idle.snapshot();
        if state.terminated() {
            return self.end_waiting();
        }
        // Ordering: the queues are looked at after the state. `terminate` below relies on nothing having been queued *since
        // the pool was closed*, and a state from before that says nothing about it.
        fence(Ordering::SeqCst);
        if !state.all_parked() || self.queues.has_work() {
            // A worker runs, or a submitter is about to wake one: the last one that parks comes here.
            return;
        }
        // If it was open then, the closer settles after us.
        if state.closed() && self.terminate() {
            for peer in self.queues.peers.iter() {
                peer.sleeper.unpark(&self.events.driver);
            }
            self.rest.notify();
        }
        self.end_waiting();
    }

    /// Ends the pool if nothing is queued; `true` for the one call that did.
    fn terminate(&self) -> bool {
        let _gate = self.tasks.lock_gate();
        // Looked at first: what is no longer there has been queued before.
        !self.is_unfinished()
            && !self.queues.has_work()
            && !self.queues.has_mail()
            && self.idle.terminate()
    }

    /// Whether the pool waits for futures or timers before it ends.
    fn is_unfinished(&self) -> bool {
        self.tasks.finishes()
            && (self.events.timers.has_closures()
                || !self.tasks.is_empty()
                || self.queues.has_locals())
    }

    /// A future or a timer has ended elsewhere than on a worker, for which the pool may have waited.
    pub(super) fn settle_finish(&self) {
        if self.tasks.finishes() && self.is_closed() {
            self.settle();
        }
    }

    /// Takes a timer back, for the caller to drop; `None` if it has fired.
    pub(crate) fn remove_timer(&self, key: TimerKey) -> Option<Entry> {
        let entry = self.events.timers.remove(key)?;
        if entry.is_closure() && self.events.timers.closure_left() {
            self.settle_finish();
        }
        Some(entry)
    }

    /// Nothing waits for the end of the pool any more, its drop included.
    pub(crate) fn detach(&self) {
        self.threads.detach();
    }

    /// Whether that has been said.
    pub(crate) fn is_detached(&self) -> bool {
        self.threads.is_detached()
    }

    /// If the pool has ended: cancels the futures that wait, as nothing polls them any more, and ends timers and I/O.
    ///
    /// Not on a worker, where what their drops submit would be queued and never run. Those that leave come here later.
    pub(super) fn end_waiting(&self) {
        if !current::is_worker_of(self.key) && self.idle.snapshot().terminated() {
            if !self.tasks.is_empty() {
                self.tasks.wake_all();
            }
            self.events.end();
        }
    }

    /// Whether the calling thread may wait for the end of the pool: it is none of the pool's threads, thread-local
    /// destructors included, nor in the user's spawner.
    pub(crate) fn may_wait_for_end(&self) -> bool {
        !self.threads.is_own() && !self.idle.is_starter()
    }

    /// Waits for the end of a pool that has been closed, until `deadline` at most. That is the end of its threads with their
    /// thread-local destructors, and of what other threads run or drop of it. Not on a thread that [may
    /// not](Self::may_wait_for_end).
    ///
    /// Returns whether it has ended.
    pub(crate) fn wait_for_end(&self, deadline: Option<Instant>) -> bool {
        self.threads.wait_left(deadline) && {
            self.threads.join_all();
            // A job that this thread runs or drops does not end before we return.
            let is_over = || self.tasks.is_empty() && self.ledger.is_idle();
            self.rest.wait_until(deadline, || is_off_pool(self.key) || is_over())
        }
    }
}

/// Work of a pool elsewhere than on its workers, until it is dropped.
pub(crate) struct OffPoolWork<'a>(&'a Core);

impl Drop for OffPoolWork<'_> {
    fn drop(&mut self) {
        let Self(core) = self;
        core.ledger.off_pool().end();
        core.look_for_quiet();
        core.tell_of_end();
    }
}

/// Drops a job's closure, panics of that contained; `false` if it had been taken from the job before.
pub(super) fn cancel_contained(job: Job) -> bool {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| job.cancel()));
    let outcome = outcome.unwrap_or_else(|payload| {
        drop_contained(payload);
        Outcome::Cancelled
    });
    outcome == Outcome::Cancelled
}
