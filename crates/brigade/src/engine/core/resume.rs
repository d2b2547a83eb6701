//! Futures woken, or ended, off the pool.
//!
//! A future is one job, accepted when it is spawned. The counters would see a further job each time it is
//! queued again. So each requeueing is counted beforehand, like a move between queues, and subtracted.

use core::any::Any;

use brigade_sync::hint;
use brigade_task::{Job, Outcome, TaskRef};

use super::Core;
use crate::engine::current;
use crate::engine::ends::off_pool::drop_off_pool;
use crate::engine::queues::Accepts;
use crate::engine::queues::peers::Peer;
use crate::values::Priority;

impl Core {
    /// Queues a future of a class, woken by a thread that is not a worker of this pool; returns it if it will
    /// no longer be polled.
    pub(crate) fn resume(&self, class: Priority, job: Job) -> Result<(), Job> {
        // The pool may have no thread and fail to start one. In an open pool the future then waits for the
        // next thread; a closed pool may never have one.
        let reserved = self.reserve();
        self.tasks.count_wake();
        let queued = match self.queues.push(class, job, Accepts::IfOpen, &self.idle) {
            Err(job) if reserved.is_err() => Err(job),
            Err(job) => self.push_late(class, job),
            Ok(()) => Ok(()),
        };
        if queued.is_err() {
            self.tasks.uncount_wake();
            return queued;
        }
        let seen = self.idle.after_publishing();
        if reserved.is_ok() || seen.parked() > 0 {
            self.ask_for_help(seen);
        }
        Ok(())
    }

    /// Queues an accepted job in a pool that may be closed, or returns the job if it will no longer run.
    #[cold]
    pub(in crate::engine) fn push_late(&self, class: Priority, job: Job) -> Result<(), Job> {
        // Under the gate, like the end of the pool, which therefore sees this push.
        let _gate = self.tasks.lock_gate();
        match self.idle.snapshot().discards() {
            true => Err(job),
            false => self.queues.push(class, job, Accepts::Always, &self.idle),
        }
    }

    /// Adds a future about to wait; returns the new number.
    pub(crate) fn bind(&self, task: TaskRef) -> u32 {
        let number = self.tasks.bind(task);
        if self.idle.snapshot().discards() {
            // The close may have cancelled the waiting futures before.
            self.tasks.cancel_waiting();
        }
        number
    }

    /// Removes an ended future. Off the pool, the end of the pool may have waited for it.
    pub(crate) fn release(&self, number: u32) {
        self.tasks.release(number);
        self.settle_finish();
        self.tell_of_end();
    }

    /// Counts a job run or dropped off the pool by the handle.
    pub(crate) fn count(&self, outcome: Outcome) {
        self.ledger.count(outcome);
    }

    /// Counts a future that ended off the pool, and reports a panic without a handle.
    pub(crate) fn count_released(&self, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        if let Some(payload) = unclaimed {
            // As in `run_here`.
            let _ = self.config.on_panic.tell(payload);
        }
        self.ledger.count(outcome);
    }

    /// Queues a woken local future for its worker, and wakes the worker if it is parked.
    pub(crate) fn send_local(&self, index: usize, job: Job) {
        self.queues.peers.at(index).mailbox.send(job);
        // The worker itself looks before it parks.
        if current::index_in(self.key) != Some(index)
            && self.idle.after_publishing().parked() > 0
            && self.idle.pick_this(index)
        {
            self.wake(index);
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
            self.tasks.cancel_waiting();
            let mut jobs = core::iter::from_fn(|| Some(peer.mailbox.take()?.1)).peekable();
            if jobs.peek().is_none() {
                // Another thread has woken the last future, and is about to send it.
                hint::snooze(round);
                round += 1;
            }
            jobs.for_each(|job| drop_off_pool(self.key, job));
        }
    }

    /// Removes an ended local future of the worker with this index.
    pub(crate) fn release_local(&self, index: usize, number: u32) {
        self.tasks.release(number);
        self.queues.peers.at(index).mailbox.local_ended();
    }
}
