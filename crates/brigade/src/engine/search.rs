//! How a worker finds the next job when its own queue is empty.

use brigade_queue::StealError;
use brigade_task::Job;

use super::park::Parked;
use super::worker::Worker;

/// The most jobs taken from the injector at once: enough that its two contended writes do not show,
/// few enough that half a queue is left for what they spawn.
const BATCH: usize = 64;

impl Worker {
    /// Our own queue is empty: looks everywhere, and sleeps while there is nothing. `None` when the worker is to leave.
    #[inline(never)]
    pub(super) fn find(&self) -> Option<Job> {
        let job = self.take_local_in_turn().or_else(|| self.refill()).or_else(|| self.take_local());
        if let Some(job) = job {
            return Some(job);
        }
        if self.tend() {
            let own = self.local.pop().or_else(|| self.take_local());
            if let Some(job) = own.or_else(|| self.refill()) {
                return Some(job);
            }
        }
        self.core.idle.start_search();
        self.hunt()
    }

    /// As a new worker: a searcher at once, since others may have kept silent about what it leaves.
    #[cold]
    pub(super) fn find_first(&self) -> Option<Job> {
        self.core.idle.begin(self.index);
        self.core.idle.start_search();
        self.hunt()
    }

    /// As a searcher: looks everywhere, and sleeps while there is nothing.
    fn hunt(&self) -> Option<Job> {
        loop {
            // Our own first: one that left its place to us may have left jobs too, and what we kept may have made some.
            let own = self.local.pop().or_else(|| self.take_local());
            let job = own.or_else(|| self.search());
            if let Some(job) = job {
                return Some(self.found(job));
            }
            match self.park() {
                Parked::Search => {}
                Parked::Run(job) => return Some(job),
                Parked::Leave => return None,
            }
        }
    }

    /// As a searcher that has found a job: searches no more, and sees to what it leaves.
    fn found(&self, job: Job) -> Job {
        if self.core.idle.stop_search() {
            if self.core.has_work() {
                self.core.help();
            } else {
                self.core.see_to_keeper();
            }
        } else if self.core.has_standby() {
            // Nobody sleeps. We may have been the keeper on whose account somebody blocks.
            self.core.see_to_keeper();
        }
        job
    }

    /// Takes our share of the injector.
    fn refill(&self) -> Option<Job> {
        let job = self.refill_quietly()?;
        // What came with it was out of sight for a moment: somebody may have gone to sleep over it.
        let queued = self.local.len();
        if queued > 0 {
            self.announce(queued);
        }
        Some(job)
    }

    fn refill_quietly(&self) -> Option<Job> {
        let threads = self.core.idle.snapshot().live().max(1);
        let share = |waiting: usize| (waiting / threads + 1).min(BATCH);
        self.core.inlet.refill(&self.local, &self.cursor, share)
    }

    /// As a searcher: looks at the injector and at every other worker once, and again if one was busy.
    pub(super) fn search(&self) -> Option<Job> {
        let mut round = 0;
        loop {
            if let Some(job) = self.refill_quietly() {
                return Some(job);
            }
            match self.steal() {
                Ok(job) => {
                    self.me.counters.stolen.add(1);
                    return Some(job);
                }
                Err(StealError::Empty) => return None,
                Err(StealError::Busy) => {
                    // A thief that lost the processor inside its claim needs ours.
                    brigade_sync::hint::snooze(round);
                    round += 1;
                }
            }
        }
    }

    /// Tries every other worker once, from a random one on.
    fn steal(&self) -> Result<Job, StealError> {
        let peers = &self.core.peers;
        let start = self.random.borrow_mut().usize(..peers.len());
        let mut error = StealError::Empty;
        let count = peers.len();
        for offset in 0..count {
            let victim = (start + offset) % count;
            if victim == self.index {
                continue;
            }
            let Some(peer) = peers.get(victim) else { continue };
            match self.local.steal_from(&peer.remote) {
                Ok(job) => return Ok(job),
                Err(StealError::Busy) => error = StealError::Busy,
                Err(StealError::Empty) => {}
            }
        }
        Err(error)
    }
}
