//! How a worker finds a job that is not on its own queue: at the injectors, at its peers, in the lanes.

use brigade_queue::StealError;
use brigade_sync::hint;
use brigade_task::Job;

use super::idle::Parked;
use super::queues::injectors::{BATCH, Share};
use super::sleep::backoff::Backoff;
use super::what::{Since, What};
use super::worker::Worker;

impl Worker {
    /// Takes the pool's oldest job, if the workers have no queues of their own, and no fork or mail here comes first.
    #[inline(always)]
    pub(super) fn pop_shared(&self) -> Option<Job> {
        let comes_first =
            !self.local.is_shared() || !self.forks.is_empty() || !self.me.mailbox.is_empty();
        if comes_first { None } else { self.shared.queues.injectors.pop_shared() }
    }

    /// Stops searching without a job. The last searcher wakes or starts a worker for the work it leaves behind.
    pub(super) fn end_search(&self) {
        let shared = &*self.shared;
        self.tell(What::Resumes);
        // As in `found`: work submitted or forked meanwhile may have woken no worker.
        if shared.idle.stop_search() && shared.wants_worker() {
            shared.wake_one();
        }
        // This worker may have held the driver.
        shared.see_to_driver();
    }

    /// Finds a job when the worker's own queue is empty: looks everywhere, and sleeps while there is none. Returns
    /// `None` when the worker must leave.
    #[inline(never)]
    pub(super) fn find(&self) -> Option<Job> {
        if let Some(job) = self.find_near() {
            return Some(job);
        }
        self.shared.idle.start_search();
        self.hunt()
    }

    /// Like [`find`](Self::find), but returns `None` instead of sleeping.
    pub(super) fn find_now(&self) -> Option<Job> {
        if let Some(job) = self.find_near() {
            return Some(job);
        }
        self.shared.idle.start_search();
        if let Some(job) = self.search() {
            return Some(self.found(job));
        }
        self.end_search();
        None
    }

    /// Finds a job without becoming a searcher.
    #[inline(always)]
    fn find_near(&self) -> Option<Job> {
        let own = self.take_part().or_else(|| self.take_mail_in_turn());
        let own = own.or_else(|| self.refill(self.share()));
        if let Some(job) = own.or_else(|| self.take_mail()) {
            return Some(job);
        }
        // This worker is about to wait for events again, unless a peer runs.
        let will_wait =
            self.activity.has_slept_on_driver.get() && self.shared.idle.snapshot().running() <= 1;
        if !will_wait && self.poll_events() {
            let own = self.local.pop().or_else(|| self.take_mail());
            return own.or_else(|| self.refill(self.share()));
        }
        None
    }

    /// Finds the first job of a new worker. The worker is a searcher at once: submitters that counted on it may have
    /// woken no worker.
    #[cold]
    pub(super) fn find_first(&self) -> Option<Job> {
        // In this order: the worker counts as about to look until it counts as a searcher.
        self.shared.idle.start_search();
        self.shared.idle.roster().starts.remove(self.index);
        self.hunt()
    }

    /// Looks everywhere as a searcher, and sleeps while there is no job.
    fn hunt(&self) -> Option<Job> {
        let queues = &self.shared.queues;
        let has_slept_on_driver = self.activity.has_slept_on_driver.take();
        // If events come one by one, the queues are usually empty, and the worker looks at every queue before it sleeps
        // anyway.
        let mut searches = !has_slept_on_driver || queues.has_work();
        let mut backoff = self.activity.has_run_parts.take().then(Backoff::default);
        loop {
            // The mailbox first: the worker may have been woken for a job there. Then the own queue: the previous
            // worker with this index may have left jobs, and events may have queued some.
            let own = self.take_mail().or_else(|| self.take_part());
            let own = own.or_else(|| self.local.pop());
            if let Some(job) = own.or_else(|| if searches { self.search() } else { None }) {
                return Some(self.found(job));
            }
            searches = true;
            // Between the last part of a parallel step and the first part of the next step (`engine/fork/FORKS.md`).
            let is_seen = || queues.has_work() || !self.me.mailbox.is_empty();
            if backoff.as_mut().is_some_and(|backoff| backoff.wait(is_seen)) {
                continue;
            }
            match self.park_unless(None, &mut || false) {
                Parked::Search => {}
                Parked::Leave => return None,
            }
        }
    }

    /// Stops searching with a job, and wakes or starts workers for the remaining work.
    pub(super) fn found(&self, job: Job) -> Job {
        let shared = &*self.shared;
        self.activity.has_found.set(true);
        let is_last = shared.idle.stop_search();
        if !self.activity.has_slept_on_driver.get() {
            self.wake_for_rest();
        }
        if is_last {
            if shared.wants_worker() {
                if self.keeps_events() {
                    return job;
                }
                self.wake_peer();
            } else {
                shared.see_to_driver();
                return job;
            }
        }
        // Maybe no worker was woken, and this worker may have held the driver, on which a blocked thread relies.
        if shared.events.candidates.are_there() {
            shared.see_to_driver();
        }
        job
    }

    /// Takes a share of an injector's jobs: returns a job and queues the rest.
    pub(super) fn refill(&self, share: Share) -> Option<Job> {
        let job = self.refill_quietly(share)?;
        self.notify_of_taken();
        Some(job)
    }

    fn refill_quietly(&self, share: Share) -> Option<Job> {
        let (shared, local) = (&self.shared, &self.local);
        let before = local.len();
        let job = shared.queues.injectors.refill(local, &self.route.cursor, share)?;
        self.tell(What::Taken(1 + local.len().saturating_sub(before)));
        Some(job)
    }

    fn share(&self) -> Share {
        Share { parts: self.shared.idle.snapshot().live().max(1), most: BATCH }
    }

    /// Looks at the injectors and at every peer, and again while a queue is busy. The caller must be a searcher.
    pub(super) fn search(&self) -> Option<Job> {
        self.tell(What::Search(Since::Running));
        let mut round = 0;
        if let Some(job) = self.take_high_first() {
            return Some(job);
        }
        loop {
            if let Some(job) = self.refill_quietly(self.share()) {
                return Some(job);
            }
            match self.steal() {
                Ok(job) => {
                    self.me.counters.stolen.add(1);
                    return Some(job);
                }
                Err(StealError::Empty) => return self.take_high_or_low(),
                Err(StealError::Busy) => {
                    // A thief preempted inside its claim may need this CPU.
                    hint::snooze(round);
                    round += 1;
                }
            }
        }
    }

    /// Tries every peer once: nearer peers first, equally near peers from a random start.
    fn steal(&self) -> Result<Job, StealError> {
        let count = self.shared.queues.peers.len();
        let start = self.route.random.borrow_mut().usize(..count);
        let near = self.shared.config.neighbours.of_worker(self.index);
        let mut error = StealError::Empty;
        for ring in near.iter() {
            for offset in 0..ring.len() {
                let peer = ring[(start + offset) % ring.len()];
                if let Some(job) = self.steal_from(peer, &mut error) {
                    return Ok(job);
                }
            }
        }
        for offset in 0..count {
            let peer = (start + offset) % count;
            if peer == self.index || near.have(peer) {
                continue;
            }
            if let Some(job) = self.steal_from(peer, &mut error) {
                return Ok(job);
            }
        }
        for guest in self.shared.queues.peers.guests() {
            if let Some(job) = self.steal_from(guest, &mut error) {
                return Ok(job);
            }
        }
        Err(error)
    }

    /// Tries a single worker; sets `error` if it was busy.
    #[inline]
    fn steal_from(&self, victim: usize, error: &mut StealError) -> Option<Job> {
        let peer = self.shared.queues.peers.get(victim)?;
        let before = self.local.len();
        let failure = match self.local.steal_from(&peer.remote) {
            Ok(job) => {
                self.tell_of_steal(before, victim);
                return Some(job);
            }
            Err(failure) => failure,
        };
        let part_failure = match self.steal_part((victim, peer), None) {
            Ok((_, job)) => return Some(job),
            Err(failure) => failure,
        };
        if failure == StealError::Busy || part_failure == StealError::Busy {
            *error = StealError::Busy;
        }
        None
    }

    /// Looks at the queue of a peer. If the queue has not moved since the last look, takes half of the jobs: returns
    /// the oldest and queues the rest. If it has moved or is empty, the next look is at the next peer.
    pub(super) fn steal_stalled(&self) -> Option<Job> {
        let (peers, look) = (&self.shared.queues.peers, &self.route.look);
        let index = look.peer.get();
        let last = look.epoch.take();
        let peer = if index == self.index { None } else { peers.get(index) };
        match (peer, last) {
            (Some(peer), None) if peer.remote.len() > 0 => {
                look.epoch.set(Some(peer.remote.epoch()));
                None
            }
            (Some(peer), Some(last)) if peer.remote.len() > 0 && peer.remote.epoch() == last => {
                let before = self.local.len();
                let job = self.local.steal_from(&peer.remote).ok()?;
                self.me.counters.stolen.add(1);
                self.tell_of_steal(before, index);
                // If the queue has not moved by the next look, the remaining jobs have waited for long enough.
                look.epoch.set(Some(peer.remote.epoch()));
                self.notify_of_taken();
                Some(job)
            }
            _ => {
                look.peer.set((index + 1) % peers.len());
                None
            }
        }
    }
}
