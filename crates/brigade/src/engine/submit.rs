//! How a job is accepted: from a job on a worker, or from elsewhere.

use brigade_task::Job;

use super::queues::Accepts;
use super::shared::Shared;
use super::worker::Worker;
use crate::values::Priority;

impl Shared {
    /// Accepts a job of a class from outside. Returns the job if the pool is closed, or has no thread and fails to start
    /// a worker.
    #[inline(always)]
    pub(crate) fn inject(&self, class: Priority, job: Job) -> Result<(), Job> {
        if class != Priority::Normal || self.idle.may_be_empty() {
            return self.inject_with_care(class, job);
        }
        self.queues.injectors.mine().push(job)?;
        if self.idle.after_exchange().has_reserves() {
            self.wake_one();
        }
        Ok(())
    }

    /// Like [`inject`](Self::inject), for a job of any class, and for a pool that may have no worker.
    #[cold]
    #[inline(never)]
    fn inject_with_care(&self, class: Priority, job: Job) -> Result<(), Job> {
        if self.is_closed() {
            return Err(job);
        }
        let Ok(reserved) = self.reserve() else { return Err(job) };
        self.queues.push(class, job, Accepts::IfOpen, &self.idle)?;
        // Still reserved: if the only worker left now, the job would depend on a new start, which may fail.
        if reserved.as_ref().is_some_and(|reserved| reserved.has_started) {
            self.grow();
        } else {
            self.wake_if_wanted(self.idle.after_publishing());
        }
        Ok(())
    }

    /// Accepts several jobs from outside, or returns the jobs pushed after the close.
    pub(crate) fn inject_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        // A closed pool needs no thread to reject jobs.
        let reserved = if self.is_closed() { Ok(None) } else { self.reserve() };
        if reserved.is_err() {
            return Err(jobs);
        }
        let count = jobs.len();
        let result = self.queues.injectors.mine().push_batch(jobs);
        let accepted = count - result.as_ref().map_or_else(Vec::len, |()| 0);
        self.wake_many(accepted, self.idle.after_publishing());
        result
    }

    /// Accepts jobs that are not queued, from a job of this pool (`inside`) or from elsewhere, unless the pool rejects
    /// them; `accept` counts them.
    pub(super) fn accept<R>(&self, inside: bool, accept: impl FnOnce(&mut u64) -> R) -> Option<R> {
        // Under the lock taken by `close` after it has closed the pool: every accepted job is in the final report, and
        // a discarded pool drops it.
        let is_open = || !self.idle.snapshot().rejects(inside);
        self.ledger.accept(|accepted| is_open().then(|| accept(accepted)))
    }

    /// Queues an accepted job in a pool that may be closed, or returns the job if it will no longer run.
    #[cold]
    pub(super) fn push_late(&self, class: Priority, job: Job) -> Result<(), Job> {
        // Under the gate, like the end of the pool, which therefore sees this push.
        let _gate = self.tasks.lock_gate();
        if self.idle.snapshot().discards() {
            return Err(job);
        }
        self.queues.push(class, job, Accepts::Always, &self.idle)
    }
}

impl Worker {
    /// Whether jobs are queued on this worker's own queues.
    #[cfg(feature = "unstable-foreign")]
    pub(crate) fn has_queued(&self) -> bool {
        self.local.len() > 0 || !self.me.forks.is_empty()
    }

    /// Accepts a job from the running job, or returns it if the pool is being discarded. The class is `class`, or the
    /// running job's by default.
    #[inline]
    pub(crate) fn submit_as(&self, class: Option<Priority>, job: Job) -> Result<(), Job> {
        match class.unwrap_or_else(|| self.class()) {
            Priority::Normal => self.submit(job),
            class => self.submit_to_lane(class, job),
        }
    }

    #[cold]
    pub(super) fn submit_to_lane(&self, class: Priority, job: Job) -> Result<(), Job> {
        if self.discards() {
            return Err(job);
        }
        self.shared.queues.push(class, job, Accepts::Always, &self.shared.idle)?;
        self.shared.wake_if_wanted(self.shared.idle.after_publishing());
        Ok(())
    }

    /// Accepts a job from a job on this worker, or returns it if the pool is being discarded.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Job> {
        if self.discards() {
            return Err(job);
        }
        self.enqueue(job);
        Ok(())
    }

    /// Queues a job on this worker, or elsewhere if the own queue is full, and wakes a parked peer if necessary.
    #[inline(always)]
    pub(crate) fn enqueue(&self, job: Job) {
        match self.local.push(job) {
            Ok(queued) => {
                self.me.counters.accepted.add(1);
                self.notify_peers(queued);
            }
            Err(job) if self.local.is_shared() => self.push_shared(job),
            Err(job) => self.overflow(job),
        }
    }

    /// Accepts a job of a worker without a queue.
    #[inline(always)]
    fn push_shared(&self, job: Job) {
        self.shared.queues.injectors.mine().push_accepted(job);
        // As in `notify_peers`: the only worker takes the job itself, after the running job.
        if !self.shared.idle.snapshot().is_alone() && self.shared.idle.after_exchange().wants_wake()
        {
            self.wake_peer();
        }
    }

    /// Accepts a job when the worker's own queue is full.
    #[cold]
    #[inline(never)]
    fn overflow(&self, job: Job) {
        let (moved, injector) = (&self.me.counters.moved, self.shared.queues.injectors.mine());
        // Counted before the move, so that no reader sees a job twice. The count is then corrected for jobs taken by
        // thieves.
        let most = self.local.len().div_ceil(2);
        moved.add(most as u64);
        let done = self.local.overflow_to(injector);
        moved.take_back((most - done) as u64);
        let pushed = if done > 0 { self.local.push_again(job) } else { Err(job) };
        match pushed {
            Ok(_) => self.me.counters.accepted.add(1),
            Err(job) => injector.push_accepted(job),
        }
        self.shared.wake_if_wanted(self.shared.idle.after_publishing());
    }

    /// Accepts several jobs at once, or returns them if the pool is being discarded.
    pub(crate) fn submit_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        if self.discards() {
            return Err(jobs);
        }
        let count = jobs.len();
        let mut rest = jobs.into_iter();
        if self.class() != Priority::Normal {
            let (lanes, idle) = (&self.shared.queues.lanes, &self.shared.idle);
            lanes.push_all(self.class(), &mut || rest.next(), Accepts::Always, idle);
            self.has_woken(self.shared.wake_many(count, idle.after_publishing()));
            return Ok(());
        }
        let mut kept = 0;
        while let Some(job) = rest.next() {
            if let Err(job) = self.local.push(job) {
                let mut left = vec![job];
                left.extend(rest);
                self.shared.queues.injectors.mine().push_batch_accepted(left);
                break;
            }
            kept += 1;
        }
        self.me.counters.accepted.add(kept);
        self.has_woken(self.shared.wake_many(count, self.shared.idle.after_publishing()));
        Ok(())
    }

    /// Queues the job of a due timer.
    pub(super) fn queue_due(&self, class: Priority, job: Job) {
        // A worker that is about to end accepts nothing: the pool has terminated since it slept.
        let is_over = self.shared.idle.snapshot().terminated();
        let queued = if is_over { Err(job) } else { self.submit_as(Some(class), job) };
        if let Err(job) = queued {
            self.shared.ledger.drop_job(job);
        }
    }
}
