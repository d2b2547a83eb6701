//! Futures woken, or ended, off the pool.
//!
//! A future is one job, accepted when it is spawned. The counters would see a further job each time it is
//! queued again. So each requeueing is counted beforehand, like a move between queues, and subtracted.

use brigade_task::Job;

use super::Core;
use crate::engine::queues::Accepts;
use crate::values::Priority;

impl Core {
    /// Queues a future of a class, woken by a thread that is not a worker of this pool; returns it if it will
    /// no longer be polled.
    pub(crate) fn resume(&self, class: Priority, job: Job) -> Result<(), Job> {
        // The pool may have no thread and fail to start one. In an open pool the future then waits for the
        // next thread; a closed pool may never have one.
        let reserved = self.reserve();
        self.work.tasks.count_wake();
        let queued = match self.work.queues.push(class, job, Accepts::IfOpen, &self.work.idle) {
            Err(job) if reserved.is_err() => Err(job),
            Err(job) => self.work.push_late(class, job),
            Ok(()) => Ok(()),
        };
        if queued.is_err() {
            self.work.tasks.uncount_wake();
            return queued;
        }
        let seen = self.work.idle.after_publishing();
        if reserved.is_ok() || seen.parked() > 0 {
            self.ask_for_help(seen);
        }
        Ok(())
    }
}
