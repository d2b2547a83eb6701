//! Futures woken on a worker, and its mail: local futures, and shares of broadcasts.

use core::ptr;
use std::collections::VecDeque;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicUsize;
use brigade_task::{Job, Outcome, TaskRef, Woken};

use super::Processor;
use crate::engine::core::enter::enter_pool;
use crate::engine::key::Key;
use crate::engine::probe::{Scope, Span};
use crate::values::Priority;

/// Names the futures of a set or a scope.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Group(usize);

impl Group {
    /// Returns the group of a set.
    pub(crate) fn new() -> Self {
        // Odd, so it is not the address of a scope.
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Self(NEXT.fetch_add(2, Ordering::Relaxed))
    }

    /// Returns the group of a scope, which does not move.
    pub(crate) fn at<T>(scope: &T) -> Self {
        Self(ptr::from_ref(scope).addr())
    }
}

/// Futures of one group, oldest first. They are queued as well, so others may poll them.
pub(crate) type Members = VecDeque<TaskRef>;

impl Processor {
    /// Calls a closure that waits for a group, of which `woken` have been woken before. Meanwhile notes futures woken
    /// here. Returns the rest of them.
    #[inline(always)]
    pub(crate) fn wait_for_group<R>(
        &self,
        group: Group,
        woken: Members,
        wait: impl FnOnce() -> R,
    ) -> (R, Members) {
        self.members.borrow_mut().push((group, woken));
        let waited = wait();
        let ended = self.members.borrow_mut().pop();
        (waited, ended.map(|(_, woken)| woken).unwrap_or_default())
    }

    /// Notes a future woken here, if a wait of this worker is for its group.
    pub(crate) fn note_member(&self, group: Group, job: &Job) {
        let mut stale = Members::new();
        let mut waits = self.members.borrow_mut();
        let Some((_, woken)) = waits.iter_mut().rfind(|(of, _)| *of == group) else { return };
        // So there are at most twice as many as queued futures.
        if woken.len() == woken.capacity() {
            let (kept, others) = woken.drain(..).partition(TaskRef::is_queued);
            (*woken, stale) = (kept, others);
        }
        woken.extend(job.task());
        drop(waits);
        // Last, because that may wake a future.
        drop(stale);
    }

    /// Takes the oldest future woken here of those that the innermost wait for a group is for.
    pub(in crate::engine) fn take_member(&self) -> Option<TaskRef> {
        self.members.borrow_mut().last_mut()?.1.pop_front()
    }

    /// Runs a job on a worker of its pool, nested in the waiting job, or cancels the job if the pool is being discarded.
    /// Returns `false` if a thread has already begun to run it.
    #[inline(always)]
    pub(crate) fn settle(&self, settle: impl FnOnce(bool) -> Option<Outcome>) -> bool {
        let run = !self.discards();
        let traced = self.begin(Span::JobInside);
        // The job has a handle, or belongs to a scope, so nothing of the outer job belongs to it.
        let outcome = enter_pool(&self.core, || settle(run));
        if !run || outcome.is_none() {
            traced.into_iter().for_each(Scope::discard);
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
            (Priority::Normal, Woken::Polled | Woken::ByItself) => self.queue_last(job),
            (class, _) => self.submit_to_lane(class, job),
        };
        queued.inspect_err(|_| moved.take_back(1))
    }

    /// Whether a future that wakes itself while polled here is dropped: its pool drains, and only such futures are
    /// left. From the start of any job but the later poll of a future, a worker counts as running something else.
    ///
    /// Such a worker may be about to park; then the next future that yields is dropped.
    #[cold]
    pub(crate) fn drops_yielding(&self, key: Key) -> bool {
        let core = &*self.core;
        if !self.is_of(key) || !core.work.is_closed() || core.work.tasks.finishes() {
            return false;
        }
        core.work.idle.watch_yields();
        // The job around the current job waits, maybe for this future.
        self.note_yields(self.depth() == 0);
        let seen = core.work.idle.snapshot();
        let others = (seen.live() - seen.parked()).saturating_sub(core.work.tasks.yielding());
        others == 0
            && !core.work.idle.roster().waits.are_parked()
            && core.work.ledger.off_pool.is_idle()
    }

    /// Notes whether this worker runs only futures that yield.
    #[inline]
    pub(in crate::engine) fn note_yields(&self, yields: bool) {
        if self.activity.only_yields.replace(yields) != yields {
            self.core.work.tasks.count_yielding(yields);
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
