//! Jobs that run inside another one, which waits or yields, whatever they descend from.
//!
//! A pool whose waits run anything never has a worker that only waits: one that finds nothing *dozes*. It is parked then, as an
//! idle worker is, and is picked for new work like that one; the pool is not idle, and does not end. `engine/FORKS.md` has the
//! protocol.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::{Wake, Waker};

use brigade_task::{Job, Wait, return_tickets};

use super::Worker;
use super::park::Parked;
use crate::engine::core::{Caller, Core};
use crate::engine::enter::enter_job;

/// Wakes a worker that dozes.
struct Call {
    core: Arc<Core>,
    index: usize,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        let Self { core, index } = &*self;
        // In a child that the job has forked, the crew's lock may be held forever.
        if core.key.is_here() && core.idle.pick_this(*index) {
            core.wake(*index, Caller::MayStop);
        }
    }
}

impl Worker {
    /// Whether its waits run any job.
    #[inline]
    pub(crate) fn runs_anything(&self) -> bool {
        self.core.config.waits_run_anything && !self.is_guest
    }

    /// Whether jobs wait on this worker's own queues.
    pub(crate) fn has_queued(&self) -> bool {
        self.local.len() > 0 || !self.me.forks.is_empty()
    }

    /// Runs a job of this worker's own queues inside the current one; `false` if there is none.
    pub(crate) fn run_own(&self) -> bool {
        let _inside = self.inside.begin();
        let origins = self.me.origins.depth();
        let job = self.find_own();
        job.map(|job| self.run_inside(job, origins)).is_some()
    }

    /// Runs a job of the pool inside the current one; `false` if there is none.
    pub(crate) fn run_one(&self) -> bool {
        if self.run_own() {
            return true;
        }
        if !self.core.queues.has_work() {
            return false;
        }
        let _inside = self.inside.begin();
        let origins = self.me.origins.depth();
        self.core.idle.start_search();
        let job = self.search();
        match job {
            Some(job) => self.run_inside(self.found(job), origins),
            None => {
                self.end_search();
                return false;
            }
        }
        true
    }

    /// Takes the newest part, the next job, or a share of this worker.
    fn find_own(&self) -> Option<Job> {
        let own = self.take_part().or_else(|| self.local.pop());
        own.or_else(|| self.me.mailbox.take_any_share())
    }

    /// Runs a job, and forgets its origin.
    pub(super) fn run_inside(&self, job: Job, origins: usize) {
        return_tickets();
        let run = || self.run_taken_inside(|| self.run(job));
        let run = || enter_job(&self.core, run);
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(run)) {
            self.panicked(payload);
        }
        return_tickets();
        self.me.origins.end(origins);
        self.end_if_orphan();
    }

    /// Stops searching without a job; the last searcher gets another worker for work that it has not taken.
    pub(super) fn end_search(&self) {
        self.trace_search_end();
        if self.core.idle.stop_search() {
            // As in `found`: what has been submitted or forked meanwhile may have woken no other worker.
            if self.core.queues.has_work() || self.has_forks_unseen() {
                self.core.help(Caller::MayStop);
            }
            self.core.see_to_driver();
        }
    }

    /// Sleeps until a wait may be over, or there is a job, which it runs.
    #[cold]
    pub(super) fn doze(&self, wait: Wait<'_>) {
        let (core, index) = (self.core.clone(), self.index);
        if !wait.register(Waker::from(Arc::new(Call { core, index }))) {
            return;
        }
        let core = &*self.core;
        let origins = self.me.origins.depth();
        core.idle.start_search();
        loop {
            if wait.is_over() {
                return self.end_search();
            }
            if let Some(job) = self.find_own().or_else(|| self.search()) {
                return self.run_inside(self.found(job), origins);
            }
            if let Some(job) = self.park_in_job(wait) {
                return self.run_inside(job, origins);
            }
        }
    }

    /// Sleeps as a searcher in the middle of a job; returns a job that it was claimed for, and is a searcher otherwise.
    pub(super) fn park_in_job(&self, wait: Wait<'_>) -> Option<Job> {
        let core = &*self.core;
        self.me.counters.parks.add(1);
        core.idle.announce_doze(self.index);
        core.queues.fence_forks();
        let has_work = core.queues.has_work() || self.me.mailbox.has_share();
        let parked = if has_work || wait.is_over() {
            self.withdraw()
        } else {
            self.trace_park(None);
            self.me.sleeper.spot.parker.park(None);
            self.woken()
        };
        core.idle.end_doze();
        match parked {
            Parked::Run(job) => Some(job),
            Parked::Search => None,
            Parked::Leave => unreachable!("the pool does not end while a worker dozes"),
        }
    }
}
