//! Futures woken on a worker, and its mail: local futures, and shares of broadcasts.

use core::cell::{Cell, RefCell};
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

    fn is_of_set(self) -> bool {
        self.0 % 2 > 0
    }

    /// Returns the group of a scope, which does not move.
    pub(crate) fn at<T>(scope: &T) -> Self {
        Self(ptr::from_ref(scope).addr())
    }
}

/// Futures of one group, oldest first. They are queued as well, so others may poll them.
pub(crate) type Members = VecDeque<TaskRef>;

/// The waits of a worker for groups.
#[derive(Default)]
pub(super) struct Groups {
    /// How many of them are for scopes.
    scopes: Cell<usize>,
    /// Whether there is a list.
    are_any: Cell<bool>,
    /// The futures woken here: of each set, and of each scope since its first one.
    woken: RefCell<Vec<(Group, Members)>>,
}

impl Groups {
    /// Takes the list of a group, and those of all scopes if none is awaited.
    #[cold]
    fn end(&self, group: Group) -> Members {
        let mut woken = self.woken.borrow_mut();
        let index = woken.iter().rposition(|(of, _)| *of == group);
        let ended = index.map(|index| woken.remove(index).1);
        let keeps = |of: Group| of.is_of_set() || self.scopes.get() > 0;
        let (kept, others): (_, Vec<_>) = woken.drain(..).partition(|&(of, _)| keeps(of));
        *woken = kept;
        self.are_any.set(!woken.is_empty());
        drop(woken);
        // Last, because that may wake a future.
        drop(others);
        ended.unwrap_or_default()
    }
}

impl Processor {
    /// Calls a closure that waits for a scope. Meanwhile notes futures woken here.
    #[inline(always)]
    pub(crate) fn wait_for_scope(&self, group: Group, wait: impl FnOnce()) {
        let Groups { scopes, are_any, .. } = &self.groups;
        scopes.set(scopes.get() + 1);
        wait();
        scopes.set(scopes.get() - 1);
        if are_any.get() {
            drop(self.groups.end(group));
        }
    }

    /// Like [`wait_for_scope`](Self::wait_for_scope), for a set of which `woken` have been woken before. Also returns the
    /// rest of them.
    pub(crate) fn wait_for_set<R>(
        &self,
        group: Group,
        woken: Members,
        wait: impl FnOnce() -> R,
    ) -> (R, Members) {
        self.groups.woken.borrow_mut().push((group, woken));
        self.groups.are_any.set(true);
        (wait(), self.groups.end(group))
    }

    /// Notes a future woken here, if a wait of this worker is for its group.
    pub(crate) fn note_member(&self, group: Group, job: &Job) {
        let Groups { scopes, are_any, woken } = &self.groups;
        let (mut stale, mut ended) = (Members::new(), Vec::new());
        let mut lists = woken.borrow_mut();
        if !lists.iter().any(|(of, _)| *of == group) {
            if group.is_of_set() || scopes.get() == 0 {
                return;
            }
            // Of scopes that other workers wait for, or that have ended.
            if lists.len() == lists.capacity() {
                let is_kept = |(of, list): &(Group, Members)| {
                    of.is_of_set() || list.iter().any(TaskRef::is_queued)
                };
                (*lists, ended) = lists.drain(..).partition(is_kept);
            }
            lists.push((group, Members::new()));
            are_any.set(true);
        }
        let Some((_, list)) = lists.iter_mut().rfind(|(of, _)| *of == group) else { return };
        // So there are at most twice as many as queued futures.
        if list.len() == list.capacity() {
            let (kept, others) = list.drain(..).partition(TaskRef::is_queued);
            (*list, stale) = (kept, others);
        }
        list.extend(job.task());
        drop(lists);
        // Last, because that may wake a future.
        drop((stale, ended));
    }

    /// Takes the oldest future of a group woken here.
    pub(in crate::engine) fn take_member(&self, group: Group) -> Option<TaskRef> {
        let mut lists = self.groups.woken.borrow_mut();
        lists.iter_mut().rfind(|(of, _)| *of == group)?.1.pop_front()
    }

    /// Whether futures woken here may be awaited.
    #[inline(always)]
    pub(in crate::engine) fn has_members(&self) -> bool {
        self.groups.are_any.get()
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
