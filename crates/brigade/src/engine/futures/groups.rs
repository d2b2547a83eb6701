//! Futures of sets and scopes that are woken on the worker that waits for them.
//!
//! A future of a set or a scope has the number of its group. A worker that waits for a group lists the futures of the group
//! that are woken on this worker meanwhile, and polls them. They are queued, too: the first thread to claim such a future
//! polls it.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicUsize;
use brigade_task::{Job, TaskRef};

use crate::engine::worker::Worker;

/// The number of the futures of a set or a scope.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Group(usize);

impl Group {
    /// Returns a number that no other group has.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The group of a scope, which has one once it has a future.
#[derive(Default)]
pub(crate) struct LateGroup(AtomicUsize);

impl LateGroup {
    pub(crate) fn get(&self) -> Option<Group> {
        // Ordering: Relaxed, here and below: it is a number.
        Some(Group(self.0.load(Ordering::Relaxed))).filter(|group| group.0 > 0)
    }

    pub(crate) fn get_or_new(&self) -> Group {
        self.get().unwrap_or_else(|| {
            let new = Group::new();
            let set = self.0.compare_exchange(0, new.0, Ordering::Relaxed, Ordering::Relaxed);
            set.map_or_else(Group, |_| new)
        })
    }
}

/// Woken futures of a group, oldest first.
pub(crate) type Members = VecDeque<TaskRef>;

/// The groups for which a worker waits, the innermost wait last.
#[derive(Default)]
pub(in crate::engine) struct Groups {
    /// Whether there are any.
    are_any: Cell<bool>,
    awaited: RefCell<Vec<(Group, Members)>>,
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
        let Groups { are_any, awaited } = &self.groups;
        awaited.borrow_mut().push((group, woken));
        are_any.set(true);
        let waited = wait();
        let (_, left) = awaited.borrow_mut().pop().unzip();
        are_any.set(!awaited.borrow().is_empty());
        (waited, left.unwrap_or_default())
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
        let Some((_, list)) = awaited.iter_mut().rfind(|(of, _)| *of == group) else { return };
        // Other threads may have polled many. So there are at most twice as many as queued futures.
        if list.len() == list.capacity() {
            (*list, stale) = list.drain(..).partition(TaskRef::is_queued);
        }
        list.extend(job.task());
        drop(awaited);
        // Last, because that may wake a future.
        drop(stale);
    }

    /// Takes the oldest future of a group for which this worker waits.
    pub(in crate::engine) fn take_member(&self, group: Group) -> Option<TaskRef> {
        let mut awaited = self.groups.awaited.borrow_mut();
        awaited.iter_mut().rfind(|(of, _)| *of == group)?.1.pop_front()
    }
}
