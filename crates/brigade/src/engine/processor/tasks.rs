//! Futures woken on a worker, and its mail: local futures, and shares of broadcasts.

use brigade_observe::{Label, What};
use brigade_task::{Cause, Job, Outcome, Woken};

use super::Processor;
use crate::engine::core::enter::enter_pool;
use crate::values::Priority;

impl Processor {
    /// Runs a job on a worker of its pool, nested in the waiting job, or cancels the job if the pool is being discarded.
    /// Returns `false` if a thread has already begun to run it.
    #[inline]
    pub(crate) fn settle(&self, settle: impl FnOnce(Option<Cause>) -> Option<Outcome>) -> bool {
        // It may be a closure, inside the poll of a future that waits for it.
        self.note_polling(false);
        let stop = self.discards().then_some(Cause::Ended);
        let traced = self.begin(What::Job(Label::default()), true);
        // The job has a handle, or belongs to a scope, so nothing of the outer job belongs to it.
        let outcome = enter_pool(&self.core, || settle(stop));
        if stop.is_some() || outcome.is_none() {
            traced.into_iter().for_each(|scope| scope.discard());
        }
        outcome.inspect(|&outcome| self.count_in_place(outcome)).is_some()
    }

    /// Queues a future of a class, woken by a job on this worker. If it was woken while it was polled, it is queued
    /// behind all queued jobs, and in the class `High` or `Low` in any case behind all jobs of the class. Returns the
    /// future if it will not be polled again.
    pub(crate) fn resume(&self, class: Priority, job: Job, woken: Woken) -> Result<(), Job> {
        // The pool ended while this worker held the driver.
        if self.core.work.idle.snapshot().terminated() {
            return Err(job);
        }
        let moved = &self.me.counters.moved;
        moved.add(1);
        let queued = match (class, woken) {
            (Priority::Normal, Woken::Idle) => self.submit(job),
            (Priority::Normal, Woken::Polled) => self.queue_last(job),
            (class, _) => self.submit_to_lane(class, job),
        };
        queued.inspect_err(|_| moved.take_back(1))
    }

    /// Notes whether this worker polls a future of a closed pool, and runs no closure.
    #[inline]
    pub(in crate::engine) fn note_polling(&self, polls: bool) {
        if self.activity.polls_future.replace(polls) != polls {
            self.core.work.tasks.count_polling(polls);
        }
    }

    /// Queues the future just polled here behind all jobs of the pool.
    fn queue_last(&self, job: Job) -> Result<(), Job> {
        if self.discards() {
            return Err(job);
        }
        self.core.work.queues.injectors.mine().push_accepted(job);
        // If nothing else is queued here, this worker takes it next.
        if self.local.len() > 0 || !self.me.mailbox.is_empty() {
            self.core.ask_for_help(self.core.work.idle.after_publishing());
        }
        Ok(())
    }

    /// Takes the oldest job of the mailbox, which only this worker may run.
    pub(in crate::engine) fn take_mail(&self) -> Option<Job> {
        self.me.mailbox.take().map(|taken| self.take_as(taken))
    }

    /// Like [`take_mail`](Self::take_mail), but takes nothing if the last call took a job.
    pub(in crate::engine) fn take_mail_in_turn(&self) -> Option<Job> {
        if self.activity.came_by_mail.take() {
            return None;
        }
        self.take_mail().inspect(|_| self.activity.came_by_mail.set(true))
    }
}
