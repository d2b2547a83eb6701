//! How a job that runs on a worker submits another.

use std::panic::{self, AssertUnwindSafe};

use brigade_task::{Job, Outcome};

use super::Worker;
use crate::engine::core::Caller;
use crate::engine::enter::enter_job;
use crate::engine::injectors::drop_if_stale;

/// How many completed entries a worker leaves in queues before it sweeps them out.
const MAX_STALE: u32 = 64;

impl Worker {
    /// Accepts a closure from a job that runs here, or gives it back if the pool is being discarded.
    ///
    /// Inlined into the caller with everything it does, so that the captures go from registers to the queue's
    /// slot. Each copy of a job on the way costs more than the rest of this: the copy's wide loads have to
    /// wait for the narrow stores that made the closure.
    #[inline(always)]
    pub(crate) fn execute<F: FnOnce() + Send + 'static>(&self, closure: F) -> Result<(), F> {
        if self.discards() {
            return Err(closure);
        }
        match self.local.push(Job::new(closure)) {
            Ok(queued) => self.accepted(queued),
            Err(job) => self.submit_elsewhere(job),
        }
        Ok(())
    }

    /// Accepts a job from a job that runs here, or gives it back if the pool is being discarded.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Job> {
        if self.discards() {
            return Err(job);
        }
        match self.local.push(job) {
            Ok(queued) => self.accepted(queued),
            Err(job) => self.submit_elsewhere(job),
        }
        Ok(())
    }

    /// Counts a job that has just been queued here, and wakes a sleeping peer.
    #[inline(always)]
    fn accepted(&self, queued: usize) {
        self.me.counters.accepted.add(1);
        self.announce(queued);
    }

    /// Wakes a sleeping peer for jobs that have just been queued here, unless it is one alone and a peer monitors the queues:
    /// the rule of `idle/README.md`.
    #[inline(always)]
    pub(super) fn announce(&self, queued: usize) {
        // Before the fence, so without it: a thread that starts others meanwhile may overlook the job, and we run it then.
        if self.core.idle.snapshot().is_alone() {
            return;
        }
        let seen = self.core.idle.after_publishing();
        if seen.wants_help() && (queued > 1 || !seen.monitored() || seen.is_below_core()) {
            self.core.help(Caller::GoesOn);
        }
    }

    /// Accepts a job that does not fit our own queue.
    #[cold]
    #[inline(never)]
    fn submit_elsewhere(&self, job: Job) {
        let job = if self.make_room() {
            match self.local.push(job) {
                Ok(_) => {
                    self.me.counters.accepted.add(1);
                    None
                }
                Err(job) => Some(job),
            }
        } else {
            Some(job)
        };
        if let Some(job) = job {
            self.core.queues.injectors.push_accepted(job);
        }
        self.core.offer_help();
    }

    /// Moves the older half of our queue to the injector; `false` if a thief holds a claim, or there is no queue.
    fn make_room(&self) -> bool {
        if self.local.is_shared() {
            return false;
        }
        let moved = &self.me.counters.moved;
        // Counted before it is done, so that no reader sees a job twice; then what thieves took is put back.
        let most = self.local.len().div_ceil(2);
        moved.add(most as u64);
        let done = self.core.queues.injectors.take_overflow(&self.local);
        moved.take_back((most - done) as u64);
        done > 0
    }

    /// Accepts several jobs at once, or gives them back if the pool is being discarded.
    pub(crate) fn submit_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        if self.discards() {
            return Err(jobs);
        }
        let count = jobs.len();
        let mut rest = jobs.into_iter();
        let mut kept = 0;
        while let Some(job) = rest.next() {
            if let Err(job) = self.local.push(job) {
                let rest = core::iter::once(job).chain(rest).collect();
                self.core.queues.injectors.push_batch_accepted(rest);
                break;
            }
            kept += 1;
        }
        self.me.counters.accepted.add(kept);
        self.core.help_with(count, self.core.idle.after_publishing());
        Ok(())
    }

    /// Accepts a job and runs it inside the job that submits it.
    pub(crate) fn run_here(&self, job: Job) {
        self.me.counters.accepted.add(1);
        let run = || enter_job(&self.core, || job.run());
        match panic::catch_unwind(AssertUnwindSafe(run)) {
            Ok(outcome) => self.count(outcome),
            Err(payload) => self.panicked(payload),
        }
    }

    /// Counts a job that has been run or dropped here by its handle.
    pub(crate) fn count_in_place(&self, outcome: Outcome) {
        self.count(outcome);
        self.leaves_entry();
    }

    /// A job that is queued has ended here: handles its entry, most often the newest of our own.
    pub(crate) fn leaves_entry(&self) {
        if let Some(job) = self.local.pop_newest() {
            match self.drop_if_stale(job) {
                Some(job) => self.queue_again([job]),
                None => return,
            }
        }
        let stale = self.stale.get() + 1;
        self.stale.set(stale % MAX_STALE);
        if stale == MAX_STALE {
            self.core.sweep();
            self.compact();
        }
    }

    /// Drops the completed entries of our own queue.
    #[cold]
    pub(super) fn compact(&self) {
        self.sweeps.set(self.core.queues.sweeps());
        if self.local.is_lifo() {
            let mut jobs: Vec<_> = core::iter::from_fn(|| self.local.pop()).collect();
            jobs.reverse();
            return self.queue_again(jobs.into_iter().filter_map(|job| self.drop_if_stale(job)));
        }
        // The oldest go to the end until all have, which leaves their order.
        let oldest = core::iter::from_fn(|| self.local.pop()).take(self.local.len());
        self.queue_again(oldest.filter_map(|job| self.drop_if_stale(job)));
    }

    /// Drops a job that is completed, and counts that.
    fn drop_if_stale(&self, job: Job) -> Option<Job> {
        let mut cancelled = 0;
        let job = drop_if_stale(job, &mut cancelled);
        self.me.counters.cancelled.add(cancelled);
        job
    }

    /// Queues jobs here again, in their order. They were out of sight for a moment: a peer may have gone to sleep meanwhile.
    fn queue_again(&self, jobs: impl IntoIterator<Item = Job>) {
        let mut queued = 0;
        for job in jobs {
            match self.local.push(job) {
                Ok(now) => queued = now,
                // Thieves that are at work hold the free slots.
                Err(job) => {
                    self.me.counters.moved.add(1);
                    self.core.queues.injectors.push_accepted(job);
                    queued += 2;
                }
            }
        }
        if queued > 0 {
            self.announce(queued);
        }
    }
}
