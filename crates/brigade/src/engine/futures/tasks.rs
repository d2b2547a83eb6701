//! Futures that are woken, and a worker's mail: local futures, and shares of broadcasts.

use brigade_task::{Cause, Job, Outcome, TaskRef, Woken};

use super::groups::{Group, Groups, Members};
use crate::engine::enter::enter_pool;
use crate::engine::probe::discard;
use crate::engine::queues::Accepts;
use crate::engine::shared::Shared;
use crate::engine::worker::{Worker, index_in};
use crate::values::Priority;

impl Shared {
    /// Queues a future of a class, woken by a thread that is not a worker of this pool; returns it if it will
    /// no longer be polled.
    ///
    /// A future is one job, accepted when it is spawned. The counters would see a further job each time it is
    /// queued again. So each requeueing is counted beforehand, like a move between queues, and subtracted.
    pub(crate) fn resume(&self, class: Priority, job: Job) -> Result<(), Job> {
        // The pool may have no thread and fail to start one. The future is then queued, and the start retried; a closed pool that
        // still has none drops it.
        let reserved = self.reserve();
        self.tasks.count_wake();
        if let Err(job) = self.queues.push(class, job, Accepts::IfOpen, &self.idle) {
            let late = self.push_late(class, job);
            if late.is_err() {
                self.tasks.uncount_wake();
                return late;
            }
        }
        self.wake_or_retry(reserved.is_ok());
        Ok(())
    }

    /// Wakes a worker for an accepted job that has been queued, or tries again to start the first.
    pub(in crate::engine) fn wake_or_retry(&self, has_worker: bool) {
        let seen = self.idle.after_publishing();
        if has_worker || seen.parked() > 0 {
            self.wake_if_wanted(seen);
        } else {
            self.retry_starts(0);
        }
    }

    /// Adds a future about to wait; returns the new number.
    pub(crate) fn bind(&self, task: TaskRef) -> u32 {
        let number = self.tasks.bind(task);
        // The end of the pool may have cancelled the waiting futures before.
        self.cancel_refused();
        number
    }

    /// Removes an ended future. Off the pool, the end of the pool may have waited for it.
    pub(crate) fn release(&self, number: u32) {
        self.tasks.release(number);
        self.try_finish();
        self.tell_of_end();
    }

    /// Removes an ended local future of the worker with this index.
    pub(crate) fn release_local(&self, index: usize, number: u32) {
        self.tasks.release(number);
        self.queues.peers.at(index).mailbox.local_ended();
    }

    /// Queues a woken local future for its worker, and wakes the worker if it is parked.
    pub(crate) fn send_local(&self, index: usize, job: Job) {
        self.queues.peers.at(index).mailbox.send(job);
        // The worker itself looks before it parks.
        if index_in(self.key) != Some(index)
            && self.idle.after_publishing().parked() > 0
            && self.idle.change(|roster| roster.pick_this(index))
        {
            self.wake(index);
        }
    }
}

impl Worker {
    /// Accepts a local future, whose first job is about to be [sent](crate::engine::Shared::send_local).
    pub(crate) fn accept_local(&self) {
        self.me.counters.accepted.add(1);
        self.me.mailbox.accept();
    }

    /// Runs a job on a worker of its pool, nested in the waiting job, or cancels the job if the pool is being discarded.
    /// Returns `false` if a thread has already begun to run it.
    #[inline]
    pub(crate) fn run_in_place(&self, run: impl FnOnce(Option<Cause>) -> Option<Outcome>) -> bool {
        // It may be a closure, inside the poll of a future that waits for it.
        self.note_polling(false);
        let stop = self.discards().then_some(Cause::Ended);
        let traced = self.begin_job(true);
        // The job has a handle, or belongs to a scope, so nothing of the outer job belongs to it.
        let outcome = enter_pool(&self.shared, || run(stop));
        if stop.is_some() || outcome.is_none() {
            discard(traced);
        }
        let Some(outcome) = outcome else { return false };
        self.count_in_place(outcome);
        true
    }

    /// Queues a future of a class, woken by a job on this worker. If it was woken while it was polled, it is queued
    /// behind all queued jobs, and in the class `High` or `Low` in any case behind all jobs of the class. Returns the
    /// future if it will not be polled again.
    pub(crate) fn resume(&self, class: Priority, job: Job, woken: Woken) -> Result<(), Job> {
        // The pool ended while this worker held the driver.
        if self.shared.idle.snapshot().terminated() {
            return Err(job);
        }
        let moved = &self.me.counters.moved;
        moved.add(1);
        let queued = match (class, woken) {
            (Priority::Normal, Woken::Idle) => self.submit(job),
            (Priority::Normal, Woken::Polled) => self.queue_last(job),
            (class, _) => self.submit_to_lane(class, job),
        };
        if queued.is_err() {
            moved.take_back(1);
        }
        queued
    }

    /// Notes whether this worker polls a future of a closed pool, and runs no closure.
    #[inline]
    pub(in crate::engine) fn note_polling(&self, polls: bool) {
        if self.activity.polls_future.replace(polls) != polls {
            self.shared.tasks.count_polling(polls);
        }
    }

    /// Queues the future just polled here behind all jobs of the pool.
    fn queue_last(&self, job: Job) -> Result<(), Job> {
        if self.discards() {
            return Err(job);
        }
        self.shared.queues.injectors.mine().push_accepted(job);
        // If nothing else is queued here, this worker takes it next.
        if self.local.len() > 0 || !self.me.mailbox.is_empty() {
            self.shared.wake_if_wanted(self.shared.idle.after_publishing());
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
        let mail = self.take_mail();
        self.activity.came_by_mail.set(mail.is_some());
        mail
    }
}

impl Worker {
    /// Calls a closure that waits for a group, of which an earlier wait has left `woken` futures. Also returns the futures
    /// that are left now.
    pub(crate) fn wait_for_group<R>(
        &self,
        group: Group,
        woken: Members,
        wait: impl FnOnce() -> R,
    ) -> (R, Members) {
        self.groups.are_any.set(true);
        self.groups.awaited.borrow_mut().push((group, woken));
        let waited = wait();
        (waited, self.groups.end_wait())
    }

    /// Lists a woken future, if this worker waits for its group.
    #[inline]
    pub(crate) fn note_member(&self, group: Group, job: &Job) {
        if self.groups.are_any.get() {
            self.list_member(group, job);
        }
    }

    #[cold]
    fn list_member(&self, group: Group, job: &Job) {
        let mut stale = Members::new();
        let mut awaited = self.groups.awaited.borrow_mut();
        let Some(list) = Groups::members(&mut awaited, group) else { return };
        // Other threads may have polled many. So there are at most twice as many as queued futures.
        if list.len() == list.capacity() {
            for task in core::mem::take(list) {
                if task.is_queued() { list.push_back(task) } else { stale.push_back(task) }
            }
        }
        if let Some(task) = job.task() {
            list.push_back(task);
        }
        drop(awaited);
        // Last, because that may wake a future.
        drop(stale);
    }

    /// Takes the oldest future of a group for which this worker waits.
    pub(in crate::engine) fn take_member(&self, group: Group) -> Option<TaskRef> {
        let mut awaited = self.groups.awaited.borrow_mut();
        Groups::members(&mut awaited, group)?.pop_front()
    }
}
