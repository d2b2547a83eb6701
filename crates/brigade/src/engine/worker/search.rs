//! How a worker finds the next job when its own queue is empty.

use core::cell::RefCell;

use brigade_observe::{Since, What};
use brigade_queue::{Cursor, StealError};
use brigade_sync::hint;
use brigade_task::Job;

use super::Worker;
use super::stalled::PeerLook;
use crate::engine::idle::{Parked, Roster};
use crate::engine::queues::injectors::{BATCH, Share};
use crate::engine::sleep::backoff::Backoff;

/// The most jobs, besides the first, that a worker runs alone if events woke them together.
const FEW: usize = 16;

/// The most workers that a searcher wakes for the jobs behind the found job: a fan-out on 64 cores then takes 1.15 times the
/// ideal, with two 1.17 (`examples/simulate`).
const MOST_WOKEN: usize = 4;

/// Where a search begins.
pub(super) struct Route {
    /// The injector used last.
    pub(super) cursor: Cursor,
    /// Picks the first peer to try.
    random: RefCell<fastrand::Rng>,
    pub(super) look: PeerLook,
}

impl Route {
    pub(super) fn new(index: usize) -> Self {
        // The same seed at every start: a pool's behaviour depends on timing alone.
        let random = RefCell::new(fastrand::Rng::with_seed(index as u64));
        Self { cursor: Cursor::at(index), random, look: PeerLook::default() }
    }
}

impl Worker {
    /// Finds a job when the worker's own queue is empty: looks everywhere, and sleeps while there is none. Returns
    /// `None` when the worker must leave.
    #[inline(never)]
    pub(super) fn find(&self) -> Option<Job> {
        self.find_near().or_else(|| {
            self.processor.core.work.idle.start_search();
            self.hunt()
        })
    }

    /// Like [`find`](Self::find), but returns `None` instead of sleeping.
    pub(super) fn find_now(&self) -> Option<Job> {
        self.find_near().or_else(|| {
            self.processor.core.work.idle.start_search();
            let found = self.search().map(|job| self.found(job));
            if found.is_none() {
                self.end_search();
            }
            found
        })
    }

    /// Finds a job without becoming a searcher.
    #[inline(always)]
    fn find_near(&self) -> Option<Job> {
        let processor = &self.processor;
        let own = processor.take_part().or_else(|| processor.take_mail_in_turn());
        let own = own.or_else(|| self.refill(self.share()));
        if let Some(job) = own.or_else(|| processor.take_mail()) {
            return Some(job);
        }
        // This worker is about to wait for events again, unless a peer runs.
        let will_wait = processor.activity.has_slept_on_driver.get()
            && processor.core.work.idle.snapshot().running() <= 1;
        if !will_wait && self.poll_events() {
            let own = processor.local.pop().or_else(|| processor.take_mail());
            return own.or_else(|| self.refill(self.share()));
        }
        None
    }

    /// Finds the first job of a new worker. The worker is a searcher at once: submitters that counted on it may have
    /// woken no worker.
    #[cold]
    pub(super) fn find_first(&self) -> Option<Job> {
        // In this order: the worker counts as about to look until it counts as a searcher.
        self.processor.core.work.idle.start_search();
        self.processor.core.work.idle.roster().starts.remove(self.processor.index);
        self.hunt()
    }

    /// Looks everywhere as a searcher, and sleeps while there is no job.
    fn hunt(&self) -> Option<Job> {
        let queues = &self.processor.core.work.queues;
        let has_slept_on_driver = self.processor.activity.has_slept_on_driver.take();
        // If events come one by one, the queues are usually empty, and the worker looks at every queue before it sleeps
        // anyway.
        let mut searches = !has_slept_on_driver || queues.has_work();
        let mut backoff = self.has_run_parts.take().then(Backoff::default);
        loop {
            // The mailbox first: the worker may have been woken for a job there. Then the own queue: the previous
            // worker with this index may have left jobs, and events may have queued some.
            let own = self.processor.take_mail().or_else(|| self.processor.take_part());
            let own = own.or_else(|| self.processor.local.pop());
            if let Some(job) = own.or_else(|| if searches { self.search() } else { None }) {
                return Some(self.found(job));
            }
            searches = true;
            // Between the last part of a parallel step and the first part of the next step (`engine/FORKS.md`).
            let is_seen = || queues.has_work() || !self.processor.me.mailbox.is_empty();
            if backoff.as_mut().is_some_and(|backoff| backoff.wait(is_seen)) {
                continue;
            }
            match self.park_unless(None, || false) {
                Parked::Search => {}
                Parked::Leave => return None,
            }
        }
    }

    /// Stops searching with a job, and wakes or starts workers for the remaining work.
    pub(super) fn found(&self, job: Job) -> Job {
        let core = &*self.processor.core;
        self.has_found.set(true);
        let is_last = core.work.idle.stop_search();
        if !self.processor.activity.has_slept_on_driver.get() {
            self.wake_for_rest();
        }
        if is_last {
            if core.work.queues.has_work() || core.work.has_forks_unseen() {
                if self.keeps_events() {
                    return job;
                }
                self.processor.help();
            } else {
                core.see_to_driver();
                return job;
            }
        }
        // Maybe no worker was woken, and this worker may have held the driver, on which a blocked thread relies.
        if core.work.events.candidates.are_there() {
            core.see_to_driver();
        }
        job
    }

    /// Wakes workers for the jobs that a searcher has queued here behind the found job, if there are several, even
    /// beside searchers. Each woken worker does the same, so their number multiplies with each wake-up.
    /// `engine/idle/README.md` has the bounds.
    fn wake_for_rest(&self) {
        let core = &*self.processor.core;
        let queued = self.processor.local.len();
        for _ in 0..if queued > 1 { queued.min(MOST_WOKEN) } else { 0 } {
            let seen = core.work.idle.snapshot();
            if seen.parked() == 0 || !core.work.idle.has_free_cpus(1 + seen.searching()) {
                return;
            }
            let Some(index) = core.work.idle.change(Roster::pick_parked) else { return };
            core.wake_beside(index);
            self.processor.has_woken(Some(index));
        }
    }

    /// Whether this worker runs all queued jobs alone: a few, just woken by events. The monitor checks whether they
    /// wait for long.
    fn keeps_events(&self) -> bool {
        let queued = self.processor.local.len();
        self.processor.activity.has_slept_on_driver.get()
            && queued <= FEW
            && !self.processor.core.work.queues.has_more_than(queued)
            && self.processor.leaves_to_monitor(self.processor.core.work.idle.snapshot())
    }

    /// Takes a share of an injector's jobs: returns a job and queues the rest.
    pub(super) fn refill(&self, share: Share) -> Option<Job> {
        let job = self.refill_quietly(share)?;
        self.processor.announce_taken();
        Some(job)
    }

    fn refill_quietly(&self, share: Share) -> Option<Job> {
        let (core, local) = (&self.processor.core, &self.processor.local);
        let before = local.len();
        let job = core.work.queues.injectors.refill(local, &self.route.cursor, share)?;
        self.processor.tell(What::Taken(1 + local.len().saturating_sub(before)));
        Some(job)
    }

    fn share(&self) -> Share {
        Share { parts: self.processor.core.work.idle.snapshot().live().max(1), most: BATCH }
    }

    /// Looks at the injectors and at every peer, and again while a queue is busy. The caller must be a searcher.
    pub(super) fn search(&self) -> Option<Job> {
        self.processor.tell(What::Search(Since::Running));
        let mut round = 0;
        if let Some(job) = self.processor.take_high_first() {
            return Some(job);
        }
        loop {
            if let Some(job) = self.refill_quietly(self.share()) {
                return Some(job);
            }
            match self.steal() {
                Ok(job) => {
                    self.processor.me.counters.stolen.add(1);
                    return Some(job);
                }
                Err(StealError::Empty) => return self.processor.take_high_or_low(),
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
        let processor = &self.processor;
        let count = processor.core.work.queues.peers.len();
        let start = self.route.random.borrow_mut().usize(..count);
        let near = processor.core.config.neighbours.of_worker(processor.index);
        let rotated = move |count| (0..count).map(move |offset| (start + offset) % count);
        let nearest = near.iter().flat_map(|ring| rotated(ring.len()).map(|place| ring[place]));
        let others = rotated(count).filter(|&peer| peer != processor.index && !near.have(peer));
        let mut error = StealError::Empty;
        let found = nearest.chain(others).find_map(|peer| self.steal_from(peer, &mut error));
        found.ok_or(error)
    }

    /// Tries a single worker; sets `error` if it was busy.
    #[inline]
    fn steal_from(&self, victim: usize, error: &mut StealError) -> Option<Job> {
        let peer = self.processor.core.work.queues.peers.get(victim)?;
        let before = self.processor.local.len();
        let mut note = |failure| {
            if failure == StealError::Busy {
                *error = failure;
            }
        };
        if let Ok(job) = self.processor.local.steal_from(&peer.remote).map_err(&mut note) {
            self.processor.tell_of_steal(before, victim);
            return Some(job);
        }
        let stolen = self.processor.steal_part((victim, peer), None).map_err(note);
        stolen.ok().map(|(_, job)| job)
    }
}
