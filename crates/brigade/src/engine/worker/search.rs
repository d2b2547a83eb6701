//! How a worker finds the next job when its own queue is empty.

use brigade_queue::StealError;
use brigade_task::Job;

use super::Worker;
use super::park::Parked;
use crate::engine::core::Caller;

/// The most jobs taken from the injector at once: enough that its two contended writes do not show,
/// few enough that half a queue is left for what they spawn.
const BATCH: usize = 64;

impl Worker {
    /// Our own queue is empty: looks everywhere, and sleeps while there is nothing. `None` when the worker must leave.
    #[inline(never)]
    pub(super) fn find(&self) -> Option<Job> {
        let own = self.take_mail_in_turn().or_else(|| self.refill_share());
        if let Some(job) = own.or_else(|| self.take_mail()) {
            return Some(job);
        }
        if self.poll_events() {
            let own = self.local.pop().or_else(|| self.take_mail());
            if let Some(job) = own.or_else(|| self.refill_share()) {
                return Some(job);
            }
        }
        self.core.idle.start_search();
        self.hunt()
    }

    /// As a new worker: a searcher at once, since submitters may have woken no other on account of it.
    #[cold]
    pub(super) fn find_first(&self) -> Option<Job> {
        self.core.idle.begin(self.index);
        self.core.idle.start_search();
        self.hunt()
    }

    /// As a searcher: looks everywhere, and sleeps while there is nothing.
    fn hunt(&self) -> Option<Job> {
        loop {
            // Our own first: a worker that had our place before may have left jobs too, and events may have made some.
            let own = self.local.pop().or_else(|| self.take_mail());
            if let Some(job) = own.or_else(|| self.search()) {
                return Some(self.found(job));
            }
            match self.park() {
                Parked::Search => {}
                Parked::Run(job) => return Some(job),
                Parked::Leave => return None,
            }
        }
    }

    /// As a searcher that has found a job: stops searching, and has other workers come for what it leaves.
    fn found(&self, job: Job) -> Job {
        if self.core.idle.stop_search() {
            if self.core.queues.has_work() {
                let goes_on = self.local.len() > 1;
                self.core.help(if goes_on { Caller::GoesOn } else { Caller::MayStop });
            } else {
                self.core.see_to_driver();
                return job;
            }
        }
        // Perhaps no worker has come. We may have held the driver on which a blocked thread relies.
        if self.core.events.candidates.are_there() {
            self.core.see_to_driver();
        }
        job
    }

    /// Takes our share of the injectors.
    fn refill_share(&self) -> Option<Job> {
        self.refill(|waiting| self.share(waiting))
    }

    /// Takes as many jobs of an injector as `share` says of those that wait there: returns one and queues the others.
    pub(super) fn refill(&self, share: impl Fn(usize) -> usize) -> Option<Job> {
        let job = self.refill_quietly(share)?;
        // What came with it was out of sight for a moment: a peer may have gone to sleep over it.
        let queued = self.local.len();
        if queued > 0 {
            self.announce(queued);
        }
        Some(job)
    }

    fn refill_quietly(&self, share: impl Fn(usize) -> usize) -> Option<Job> {
        self.core.queues.injectors.refill(&self.local, &self.cursor, share)
    }

    fn share(&self, waiting: usize) -> usize {
        let threads = self.core.idle.snapshot().live().max(1);
        (waiting / threads + 1).min(BATCH)
    }

    /// As a searcher: looks at the injectors and at every other worker once, and again if one was busy.
    fn search(&self) -> Option<Job> {
        let mut round = 0;
        loop {
            if let Some(job) = self.refill_quietly(|waiting| self.share(waiting)) {
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
        let peers = &self.core.queues.peers;
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
