//! The entries of completed jobs, which stay in queues until a sweep.

use core::iter;

use brigade_task::{Job, Outcome};

use super::queues::injectors::SWEEP;
use super::shared::Shared;
use super::worker::{Leftovers, Worker};

impl Leftovers {
    /// Counts an entry; returns whether it is time for a sweep.
    fn add(&self) -> bool {
        let left = (self.left.get() + 1) % (SWEEP / 2);
        self.left.set(left);
        left == 0
    }
}

impl Worker {
    /// Counts a job run or dropped by its handle on this worker.
    pub(crate) fn count_in_place(&self, outcome: Outcome) {
        self.count(outcome);
        self.leaves_entry();
    }

    /// Handles the entry of a queued job that has ended on this worker; most often the newest entry of the own queue.
    pub(crate) fn leaves_entry(&self) {
        if let Some(job) = self.local.pop_newest() {
            match self.drop_if_stale(job) {
                Some(job) => self.queue_again(&mut iter::once(job)),
                None => return,
            }
        }
        self.leaves_old_entry();
    }

    /// Counts a job of a scope run or dropped by its handle on this worker.
    pub(crate) fn count_part(&self, outcome: Outcome) {
        self.count(outcome);
        self.leaves_old_entry();
    }

    /// Leaves the entry of a job that has ended on this worker, or will end by another entry, to the next sweep.
    pub(crate) fn leaves_old_entry(&self) {
        if self.leftovers.add() {
            self.shared.sweep();
            self.compact();
        }
    }

    /// Drops the completed entries of the own queues, if the injectors have been swept since this was last done.
    #[inline]
    pub(super) fn compact_after_sweep(&self) {
        if self.leftovers.sweeps.get() != self.shared.queues.sweeps() {
            self.compact();
        }
    }

    /// Drops the completed entries of the own queues.
    #[cold]
    fn compact(&self) {
        if self.leftovers.looks.borrow_mut().are_due(SWEEP, self.forks.len()) {
            self.compact_parts();
        }
        self.leftovers.sweeps.set(self.shared.queues.sweeps());
        let mut jobs = Vec::new();
        while let Some(job) = self.local.pop() {
            if let Some(job) = self.drop_if_stale(job) {
                jobs.push(job);
            }
        }
        if self.local.is_lifo() {
            jobs.reverse();
        }
        self.queue_again(&mut jobs.into_iter());
    }

    /// Drops a completed job, and counts it if it was cancelled; otherwise returns the job.
    fn drop_if_stale(&self, job: Job) -> Option<Job> {
        match job.drop_if_stale() {
            Ok(Outcome::Stale) => {}
            Ok(outcome) => self.count(outcome),
            Err(job) => return Some(job),
        }
        None
    }

    /// Queues jobs on this worker again, in their order. They were briefly not visible, so a peer may have gone to
    /// sleep.
    fn queue_again(&self, jobs: &mut dyn Iterator<Item = Job>) {
        let mut queued = 0;
        for job in jobs {
            match self.local.push_again(job) {
                Ok(now) => queued = now,
                // Active thieves hold the free slots.
                Err(job) => {
                    self.me.counters.moved.add(1);
                    self.shared.queues.injectors.mine().push_accepted(job);
                    queued += 2;
                }
            }
        }
        if queued > 0 {
            self.notify_peers(queued);
        }
    }
}

impl Shared {
    /// Notes that a queued job has ended off the pool: the entry stays in a queue.
    pub(crate) fn leaves_entry(&self) {
        if self.ledger.leaves_entry() {
            self.sweep();
        }
    }

    /// Sweeps completed entries out of the injectors, the lanes and the mailboxes.
    pub(super) fn sweep(&self) {
        self.ledger.count_cancelled(self.queues.sweep(&self.idle));
        // A worker that looked during the sweep may have seen work, and therefore not have terminated the pool.
        self.try_terminate();
    }
}
