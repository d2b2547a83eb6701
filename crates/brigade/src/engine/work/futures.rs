//! Futures that wait, wake or end, as far as the end of the pool depends on them.

use brigade_sync::hint;
use brigade_task::{Job, TaskRef};

use super::Work;
use crate::engine::current;
use crate::engine::ends::off_pool::drop_off_pool;
use crate::engine::queues::Accepts;
use crate::engine::queues::peers::Peer;
use crate::values::Priority;

impl Work {
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
