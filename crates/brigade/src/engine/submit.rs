//! How a job that runs on a worker submits another.

use brigade_task::Job;

use super::worker::Worker;

impl Worker {
    /// Accepts a closure from a job that runs here, or gives it back if the pool is being discarded.
    ///
    /// Inlined into the caller with everything it does, so that the captures go from registers to the queue's
    /// slot. Each copy of a job on the way costs more than the rest of this: the copy's wide loads have to
    /// wait for the narrow stores that made the closure.
    #[inline(always)]
    pub(crate) fn execute<F: FnOnce() + Send + 'static>(&self, closure: F) -> Result<(), F> {
        let seen = self.core.idle.snapshot();
        if seen.discards() {
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
        let seen = self.core.idle.snapshot();
        if seen.discards() {
            return Err(job);
        }
        match self.local.push(job) {
            Ok(queued) => self.accepted(queued),
            Err(job) => self.submit_elsewhere(job),
        }
        Ok(())
    }

    /// Counts a job that has just been queued here, and tells a sleeping peer.
    #[inline(always)]
    fn accepted(&self, queued: usize) {
        self.me.counters.accepted.add(1);
        self.announce(queued);
    }

    /// Tells a sleeping peer of jobs that have just been queued here, unless it is one alone and being
    /// watched: the rule of `idle/README.md`.
    #[inline(always)]
    pub(super) fn announce(&self, queued: usize) {
        // Before the fence, so without it: who starts others meanwhile may overlook the job, and we run it then.
        if self.core.idle.snapshot().is_alone() {
            return;
        }
        let seen = self.core.idle.after_publishing();
        if seen.wants_help() && (queued > 1 || !seen.watched() || seen.is_below_core()) {
            self.core.help();
        }
    }

    /// Accepts a job for which our own queue has no room.
    #[cold]
    #[inline(never)]
    fn submit_elsewhere(&self, job: Job) {
        let core = &*self.core;
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
            self.core.inlet.push_accepted(job);
        }
        if core.idle.after_publishing().wants_help() {
            core.help();
        }
    }

    /// Moves the older half of our queue to the injector; `false` if a thief is at it, or there is no queue.
    fn make_room(&self) -> bool {
        if self.local.is_shared() {
            return false;
        }
        let moved = &self.me.counters.moved;
        // Counted before it is done, so that no reader sees a job twice; then what thieves took is put back.
        let most = self.local.len().div_ceil(2);
        moved.add(most as u64);
        let done = self.core.inlet.take_overflow(&self.local);
        moved.take_back((most - done) as u64);
        done > 0
    }

    /// Accepts several jobs at once, or gives them back if the pool is being discarded.
    pub(crate) fn submit_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        let seen = self.core.idle.snapshot();
        if seen.discards() {
            return Err(jobs);
        }
        let count = jobs.len();
        let mut rest = jobs.into_iter();
        let mut kept = 0;
        while let Some(job) = rest.next() {
            if let Err(job) = self.local.push(job) {
                let rest = core::iter::once(job).chain(rest).collect();
                self.core.inlet.push_batch_accepted(rest);
                break;
            }
            kept += 1;
        }
        self.me.counters.accepted.add(kept);
        self.core.help_with(count, self.core.idle.after_publishing());
        Ok(())
    }
}
