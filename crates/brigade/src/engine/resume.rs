//! How a future that was woken is queued again, and how it ends.
//!
//! A future is one job, accepted when it is spawned. Each time that it is queued again the counters would see one more: what
//! they see too much is counted before, beside what moves between queues.

use core::any::Any;

use brigade_task::{Job, Ran};

use super::{CURRENT, Core, Worker};

impl Worker {
    /// Queues a future that a job here has woken, `again` behind everything else; gives it back if the pool is being
    /// discarded.
    pub(crate) fn resume(&self, job: Job, again: bool) -> Result<(), Job> {
        // As the keeper of a pool that has ended meanwhile: nobody would run it.
        if self.core.idle.snapshot().terminated() {
            return Err(job);
        }
        let moved = &self.me.counters.moved;
        moved.add(1);
        let queued = if again { self.queue_last(job) } else { self.submit(job) };
        queued.inspect_err(|_| moved.take_back(1))
    }

    /// Queues the future that was polled here just now, behind all that is queued anywhere.
    fn queue_last(&self, job: Job) -> Result<(), Job> {
        let idle = &self.core.idle;
        if idle.snapshot().discards() {
            return Err(job);
        }
        self.later_inlet().unwrap_or_else(|| self.home()).push_accepted(job);
        // If there is nothing else here, we are the next to come for it ourselves.
        if self.local.len() > 0 {
            self.offer_help();
        }
        Ok(())
    }

    /// Lets somebody else come for what this worker has queued.
    pub(crate) fn offer_help(&self) {
        if self.core.idle.after_publishing().wants_help() {
            self.core.help();
        }
    }

    /// Counts a future that ended here, and reports a panic that no handle takes.
    pub(crate) fn ended(&self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        match (ran, unclaimed) {
            (_, Some(payload)) => self.panicked(payload),
            (Ran::Returned, None) => self.me.counters.returned.add(1),
            (ran, None) => self.count(ran),
        }
        self.core.tasks.leave(number);
    }
}

impl Core {
    /// Queues a future that somebody has woken who is no worker here; gives it back if the pool has ended.
    pub(crate) fn resume(&self, job: Job) -> Result<(), Job> {
        self.tasks.count();
        let queued = self.inject(job).or_else(|job| self.inject_late(job));
        queued.inspect_err(|_| self.tasks.uncount())
    }

    /// The same in a pool that is closed: what it has accepted goes on until it has ended.
    #[cold]
    fn inject_late(&self, job: Job) -> Result<(), Job> {
        let held = if self.may_be_empty() { Some(self.hold()) } else { None };
        if matches!(held, Some(None)) {
            return Err(job);
        }
        let gate = self.tasks.gate.lock();
        let seen = self.idle.snapshot();
        if seen.terminated() || seen.discards() {
            return Err(job);
        }
        self.inlets[self.idle.era().outside()].push_accepted(job);
        drop(gate);
        if self.idle.after_publishing().wants_help() {
            self.help();
        }
        Ok(())
    }

    /// Ends the pool if nothing is queued; `true` for the one call that did.
    pub(super) fn ends(&self) -> bool {
        let _gate = self.tasks.gate.lock();
        !self.has_work() && self.idle.terminate()
    }

    /// Cancels the futures that wait, if the pool has ended: nothing polls them any more.
    ///
    /// Not on a worker, where what their drops submit would be queued and never run. Those that leave come here later.
    pub(super) fn cancel_waiting(&self) {
        let on_worker = CURRENT.with(|worker| worker.is_some_and(|worker| worker.is_of(self.key)));
        if !on_worker && self.idle.snapshot().terminated() {
            if !self.tasks.is_empty() {
                self.tasks.wake_all();
            }
            self.end_keep();
        }
    }

    /// Counts a future that ended elsewhere than on a worker.
    pub(crate) fn ended(&self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        if let Some(payload) = unclaimed {
            // As in `run_here`.
            let _ = self.config.on_panic.tell(payload);
        }
        self.elsewhere.lock().count(ran);
        self.forget_future(number);
    }

    /// Forgets a future that has ended, or was not accepted, and tells who waits for the last of them.
    pub(crate) fn forget_future(&self, number: u32) {
        self.tasks.leave(number);
        if self.idle.snapshot().terminated() {
            self.tell_waiters();
        }
    }

    /// Waits until no thread is about to drop a future that it has woken too late.
    pub(crate) fn wait_for_futures(&self) {
        let mut waits = self.waits.lock();
        while !self.tasks.is_empty() {
            waits = self.changed.wait(waits, None);
        }
    }
}
