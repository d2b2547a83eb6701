//! When a pool is idle, and how it ends.
//!
//! A pool is open, then closed, then terminated. `close` rejects work from outside; the workers continue as
//! before. Then the first thread to find all workers parked and nothing queued terminates the pool: the last
//! worker to park, or the closing thread if all were parked already. Nothing can be accepted from then on:
//! only running workers still could, and there is none.
//!
//! The injectors are closed in turn. Each push comes before or after the close of its injector, and is
//! accepted or rejected, finally. Meanwhile, one producer's job may be rejected and another's still accepted.
//! The state changes last, so no job is accepted from a thread that has seen the pool closed.

use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::time;
use brigade_task::{Job, Outcome, drop_contained};

use super::{Core, monitor};
use crate::engine::current;
use crate::engine::ends::off_pool::{is_off_pool, nest};
use crate::engine::timers::{Entry, TimerKey};
use crate::values::Shutdown;

impl Core {
    /// Whether the calling thread may wait until the pool is idle. It would wait for itself if it runs or
    /// drops a job of the pool. So it would in the user's spawner, because the worker being started counts as
    /// running until the spawner returns.
    pub(crate) fn may_wait_idle(&self) -> bool {
        !current::is_worker_of(self.key) && !is_off_pool(self.key) && !self.idle.is_starter()
    }

    /// Waits until nothing is queued and nothing runs. Returns `false` if `timeout` elapses first. Must not
    /// be called on a thread that [may not](Self::may_wait_idle).
    pub(crate) fn wait_idle(&self, timeout: Option<Duration>) -> bool {
        // The owner of a pool without threads would wait for jobs that only it runs.
        let is_owner = self.config.is_driven && self.threads.is_own();
        if timeout == Some(Duration::ZERO) || is_owner {
            return self.idle.is_quiet(|| self.is_empty());
        }
        // A deadline too far in the future to be represented is no deadline.
        let deadline = timeout.and_then(|timeout| time::now().checked_add(timeout));
        self.idle.wait_quiet(deadline, || self.is_empty())
    }

    /// Whether nothing is queued, and no job is being run or dropped off the pool.
    fn is_empty(&self) -> bool {
        self.ledger.is_idle_and(|| !self.queues.has_work() && !self.queues.has_mail())
    }

    /// If the pool is quiet, wakes the threads waiting for this.
    pub(in crate::engine) fn look_for_quiet(&self) {
        self.idle.find_quiet(|| self.is_empty());
    }

    /// Calls a closure that runs or drops a job of the pool off the pool. The end of the pool and `wait_idle`
    /// wait for it.
    pub(crate) fn off_pool<R>(&self, work: impl FnOnce() -> R) -> R {
        let _work = self.begin_off_pool();
        nest(self.key, work)
    }

    /// Counts a piece of work off the pool from now on, for the job being accepted.
    pub(in crate::engine) fn begin_off_pool(&self) -> OffPoolWork<'_> {
        self.ledger.off_pool.begin();
        OffPoolWork(self)
    }

    /// Wakes the threads waiting for the last work off the pool, which may outlive the workers.
    pub(in crate::engine) fn tell_of_end(&self) {
        if self.idle.snapshot().terminated() {
            self.idle.notify();
        }
    }

    /// Accepts nothing from outside from now on; `Discard` accepts nothing at all and drops the queued jobs.
    /// A closed pool can't be closed again in a milder way.
    pub(crate) fn close(&self, how: Shutdown) {
        self.close_as(how, false);
    }

    /// Accepts nothing from outside from now on, and drops no queued job. A pool whose drop finishes all
    /// accepted work still does so. Has no effect on a closed pool.
    pub(crate) fn close_if_open(&self) {
        let finishes = self.config.on_drop.how == Shutdown::Finish;
        self.close_as(if finishes { Shutdown::Finish } else { Shutdown::Drain }, true);
    }

    fn close_as(&self, how: Shutdown, if_open: bool) {
        self.queues.close();
        self.close_gate(how, if_open).into_iter().for_each(Entry::give_up);
        // A job accepted without being queued has been accepted by now, or its submitter sees the closed
        // pool.
        drop(self.ledger.totals.lock());
        // Submitters that wait outside the pool.
        if let Some(permits) = self.permits() {
            permits.wake_all();
        }
        // A pool whose last thread could not be started may still have jobs.
        let stranded =
            self.idle.snapshot().live() == 0 && self.queues.has_work() && self.reserve().is_err();
        if how == Shutdown::Discard || stranded {
            self.drop_queued();
        }
        if how == Shutdown::Discard {
            // A job may wait for a pending future, and the end of the pool for that job.
            self.tasks.cancel_waiting();
        }
        if self.is_held_up() {
            self.tasks.cancel_waiting();
        }
        self.settle();
    }

    /// Whether the pool drains, and is held up only by jobs that wait for the pool's own pending futures.
    /// Checked before a worker sleeps, and when the pool has been closed.
    pub(in crate::engine) fn is_held_up(&self) -> bool {
        let seen = self.idle.snapshot();
        seen.closed()
            && !seen.discards()
            && !self.tasks.finishes()
            && self.idle.only_waits()
            && self.is_empty()
            && self.tasks.has_waiting()
    }

    /// Changes the state; returns the ended timers, which the caller must give up.
    fn close_gate(&self, how: Shutdown, if_open: bool) -> Vec<Entry> {
        // Several closers take turns.
        let _gate = self.tasks.lock_gate();
        if if_open && self.is_closed() {
            return Vec::new();
        }
        let finishes = how == Shutdown::Finish && (!self.is_closed() || self.tasks.finishes());
        // Both before the state: a thread that finds the pool closed also finds how, and sets no timer.
        self.tasks.set_finishes(finishes);
        let ended = self.events.timers.close(finishes);
        self.idle.close(how == Shutdown::Discard);
        ended
    }

    /// Whether the pool no longer accepts anything from outside.
    pub(crate) fn is_closed(&self) -> bool {
        // The state changes last: every part is closed by then.
        self.idle.snapshot().closed()
    }

    /// Drops all queued jobs. Workers concurrently drop the jobs they find.
    fn drop_queued(&self) {
        self.off_pool(|| {
            // Parts are dropped only if no worker is left to do so: a job that forks all the time would keep
            // this thread here.
            let is_empty = || self.idle.snapshot().live() == 0;
            let left = || if is_empty() { self.queues.take_oldest_part() } else { None };
            let oldest = || self.queues.take_oldest(&|_| true, &self.idle);
            while let Some(job) = oldest().or_else(left) {
                self.drop_job(job);
            }
            for (_, peer) in self.queues.peers.iter() {
                peer.mailbox.take_shares().into_iter().for_each(|job| self.drop_job(job));
            }
        });
    }

    /// Counts a job that ended with this outcome without being queued.
    pub(crate) fn count_unqueued(&self, outcome: Outcome) {
        let mut totals = self.ledger.totals.lock();
        totals.accepted += 1;
        totals.count(outcome);
    }

    /// Counts a job cancelled by the handle, off the pool.
    pub(crate) fn count_cancelled(&self) {
        self.ledger.count_cancelled(1);
        self.leaves_entry();
    }

    /// Notes that a queued job has ended off the pool: the entry stays in a queue.
    pub(crate) fn leaves_entry(&self) {
        if self.ledger.leaves_entry() {
            self.sweep();
        }
    }

    pub(in crate::engine) fn drop_job(&self, job: Job) {
        self.ledger.count(cancel_contained(job));
    }

    /// Sweeps completed entries out of the injectors and the lanes.
    pub(in crate::engine) fn sweep(&self) {
        self.ledger.count_cancelled(self.queues.sweep(&self.idle));
        self.queues.peers.iter().for_each(|(_, peer)| peer.mailbox.sweep());
        // A worker that looked during the sweep may have seen work, and therefore not settled.
        self.settle();
    }

    /// If all workers are parked and nothing is queued, wakes the threads waiting for this, and ends the pool
    /// if it is closed.
    ///
    /// Called after each change that may have made this true: a worker parks or leaves, a start fails, the
    /// pool is closed.
    pub(in crate::engine) fn settle(&self) {
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
        // If the pool was open at that read, the closing thread settles later.
        if state.closed() && self.terminate() {
            monitor::leave(self.key);
            self.queues.peers.iter().for_each(|(index, _)| self.wake(index));
            self.idle.notify();
        }
        self.end_waiting();
    }

    /// Terminates the pool if nothing is queued; `true` for the one call that did.
    fn terminate(&self) -> bool {
        let _gate = self.tasks.lock_gate();
        // The mailboxes are read in the same step: a broadcast may fill the mailbox of a worker about to
        // park.
        !self.queues.has_work()
            && self.idle.terminate(|| self.queues.has_mail() || self.is_unfinished())
    }

    /// Whether the pool waits for futures or timers before it ends. A first poll off the pool may leave a
    /// waiting future.
    fn is_unfinished(&self) -> bool {
        self.tasks.finishes()
            && (self.events.timers.has_closures()
                || !self.ledger.off_pool.is_idle()
                || !self.tasks.is_empty())
    }

    /// Settles after a future or a timer has ended off the pool: the end of the pool may have waited for it.
    pub(in crate::engine) fn settle_finish(&self) {
        if self.tasks.finishes() && self.is_closed() {
            self.settle();
        }
    }

    /// Removes a timer, for the caller to drop; `None` if it has fired.
    pub(crate) fn remove_timer(&self, key: TimerKey) -> Option<Entry> {
        let entry = self.events.timers.remove(key)?;
        if entry.is_closure() && self.events.timers.closure_left() {
            self.settle_finish();
        }
        Some(entry)
    }

    /// From now on, nothing waits for the end of the pool, not even its drop.
    pub(crate) fn detach(&self) {
        self.threads.detach();
    }

    /// Whether [`detach`](Self::detach) has been called.
    pub(crate) fn is_detached(&self) -> bool {
        self.threads.is_detached()
    }

    /// If the pool has ended, cancels the pending futures, because nothing polls them any more, and ends
    /// timers and I/O.
    ///
    /// Does nothing on a worker, where jobs submitted by the drops would be queued and never run. A leaving
    /// worker calls this later.
    pub(in crate::engine) fn end_waiting(&self) {
        if !current::is_worker_of(self.key) && self.idle.snapshot().terminated() {
            // First: the destructor of a future may wait for a timer or an event, which no worker would
            // handle any more.
            self.events.end();
            if !self.tasks.is_empty() {
                self.tasks.cancel_waiting();
            }
        }
    }

    /// Whether the calling thread may wait for the end of the pool: it is neither a thread of the pool,
    /// thread-local destructors included, nor in the user's spawner.
    pub(crate) fn may_wait_for_end(&self) -> bool {
        // A pool that finishes all accepted work waits for the work on this thread's stack.
        let is_waited_for = is_off_pool(self.key) && self.tasks.finishes();
        !is_waited_for && !self.threads.is_own() && !self.idle.is_starter()
    }

    /// Waits for the end of a closed pool, until `deadline` at most: for its threads, thread-local
    /// destructors included, and for jobs that other threads run or drop for it. Must not be called on a
    /// thread that [may not](Self::may_wait_for_end).
    ///
    /// Returns whether the pool has ended.
    pub(crate) fn wait_for_end(&self, deadline: Option<Instant>) -> bool {
        // A job on this thread's stack can't end before this returns.
        let is_over = || self.tasks.is_empty() && self.ledger.off_pool.is_idle();
        // First: a thread about to be started is not among the threads yet.
        self.idle.wait_left(deadline)
            && self.threads.join_all(deadline)
            && self.idle.wait_until(deadline, || is_off_pool(self.key) || is_over())
            && self.config.observer.as_ref().is_none_or(|observer| observer.end_detector(deadline))
    }
}

/// A piece of work off the pool, until it is dropped.
pub(crate) struct OffPoolWork<'a>(&'a Core);

impl Drop for OffPoolWork<'_> {
    fn drop(&mut self) {
        let Self(core) = self;
        core.ledger.off_pool.end();
        core.settle_finish();
        core.look_for_quiet();
        core.tell_of_end();
    }
}

/// Drops a job's closure or future, and contains a panic of the drop.
pub(crate) fn cancel_contained(job: Job) -> Outcome {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| job.cancel()));
    outcome.unwrap_or_else(|payload| {
        drop_contained(payload);
        Outcome::Cancelled
    })
}
