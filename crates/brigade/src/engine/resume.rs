//! How a future that was woken is queued again, and how it ends.
//!
//! A future is one job, accepted when it is spawned. Each time that it is queued again the counters would see one more: what
//! they see too much is counted before, beside what moves between queues.

use core::any::Any;
use std::time::Instant;

use brigade_task::{Job, Ran};

use super::aside;
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
        self.core.inlet.push_accepted(job);
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
        self.count_ended(ran, unclaimed);
        self.core.tasks.leave(number);
    }

    pub(super) fn count_ended(&self, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        match (ran, unclaimed) {
            (_, Some(payload)) => self.panicked(payload),
            (Ran::Returned, None) => self.me.counters.returned.add(1),
            (ran, None) => self.count(ran),
        }
    }
}

impl Core {
    /// Queues a future that somebody has woken who is no worker here; gives it back if nobody will run it any more.
    pub(crate) fn resume(&self, job: Job) -> Result<(), Job> {
        self.tasks.count();
        self.inject_woken(job).inspect_err(|_| self.tasks.uncount())
    }

    fn inject_woken(&self, job: Job) -> Result<(), Job> {
        let held = if self.may_be_empty() { Some(self.hold()) } else { None };
        // No thread, and none to be had now. In an open pool it waits for the next one; a closed pool may never have one.
        let is_deserted = matches!(held, Some(None));
        match self.inlet.push(job) {
            Ok(()) => {}
            Err(job) if is_deserted => return Err(job),
            Err(job) => self.push_late(job)?,
        }
        let seen = self.idle.after_publishing();
        if seen.wants_help() && (!is_deserted || seen.parked() > 0) {
            self.help();
        }
        Ok(())
    }

    /// Queues a job that was accepted before, in a pool that may be closed, or gives it back if nobody will run it any more.
    #[cold]
    fn push_late(&self, job: Job) -> Result<(), Job> {
        // Under the gate, as is the end of the pool: what is pushed here is seen there.
        let _gate = self.tasks.gate.lock();
        let seen = self.idle.snapshot();
        if seen.discards() || seen.terminated() {
            return Err(job);
        }
        self.inlet.push_accepted(job);
        Ok(())
    }

    /// Queues a future again that was taken for its place and has none, or drops it if nobody will run it any more.
    ///
    /// Between the two it is nowhere: a wait may end meanwhile, and a pool that drains. Who drops jobs for want of room can live
    /// with that.
    pub(super) fn put_back(&self, job: Job) {
        self.tasks.count();
        match self.push_late(job) {
            Ok(()) => {
                if self.idle.after_publishing().wants_help() {
                    self.help();
                }
            }
            Err(job) => {
                self.tasks.uncount();
                self.count_aside(|| aside::drop_aside(self.key, job));
            }
        }
    }

    /// Ends the pool if nothing is queued; `true` for the one call that did.
    pub(super) fn ends(&self) -> bool {
        let _gate = self.tasks.gate.lock();
        !self.has_work() && !self.has_mail() && self.idle.terminate()
    }

    /// Cancels the futures that wait, if the pool has ended: nothing polls them any more.
    ///
    /// Not on a worker, where what their drops submit would be queued and never run. Those that leave come here later.
    pub(super) fn cancel_waiting(&self) {
        // In a model all threads are one to that thread-local, and no future waits.
        let on_worker = cfg!(not(brigade_loom))
            && CURRENT.with(|worker| worker.is_some_and(|worker| worker.is_of(self.key)));
        if !on_worker && self.idle.snapshot().terminated() {
            if !self.tasks.is_empty() {
                self.tasks.wake_all();
            }
            self.end_keep();
        }
    }

    /// Counts a future that ended elsewhere than on a worker.
    pub(crate) fn ended(&self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        self.count_ended(ran, unclaimed);
        self.tasks.leave(number);
        self.tell_of_future();
    }

    pub(super) fn count_ended(&self, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        if let Some(payload) = unclaimed {
            // As in `run_here`.
            let _ = self.config.on_panic.tell(payload);
        }
        self.elsewhere.lock().count(ran);
    }

    /// Calls with what polls or drops a future on this thread, which may be no worker of ours: the end of the pool waits for it.
    pub(super) fn count_aside<R>(&self, call: impl FnOnce() -> R) -> R {
        let counted = self.tasks.count_aside();
        let result = call();
        drop(counted);
        self.tell_of_future();
        result
    }

    /// Tells who waits for the last of the futures that one of them may have ended.
    fn tell_of_future(&self) {
        if self.idle.snapshot().terminated() {
            self.tell_waiters();
        }
    }

    /// Waits until no thread is about to drop a future that it has woken too late, or polls one for which there was no room;
    /// till then at most. Not on a thread that does so itself.
    pub(crate) fn wait_for_futures(&self, end: Option<Instant>) {
        if aside::is_aside(self.key) {
            return;
        }
        let mut waits = self.waits.lock();
        while !self.tasks.is_empty() {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            waits = self.changed.wait(waits, left);
        }
    }

    /// Polls a future for the first time on this thread, which is no worker of ours: it was accepted without being queued.
    pub(crate) fn poll_here(&self, job: Job) {
        self.count_aside(|| {
            aside::aside(self.key, || self.run_here(job));
            // If the pool has ended meanwhile, it may have done so before it knew this one.
            self.cancel_waiting();
        });
    }
}
