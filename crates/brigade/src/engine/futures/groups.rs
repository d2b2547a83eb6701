//! Futures of sets and scopes that are woken on the worker that waits for them.
//!
//! A future of a set or a scope has the number of its group. A worker that waits for a group lists the futures of the group
//! that are woken on this worker meanwhile, and polls them. They are queued, too: the first thread to claim such a future
//! polls it.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicUsize;
use brigade_task::TaskRef;

/// The number of the futures of a set or a scope.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Group(usize);

impl Group {
    /// Returns a number that no other group has: odd, as no address of a scope is.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Self(NEXT.fetch_add(2, Ordering::Relaxed))
    }

    /// The group of a scope, which outlives its futures: its address.
    pub(crate) fn of<T>(scope: &T) -> Self {
        Self(core::ptr::from_ref(scope).addr())
    }
}

/// Woken futures of a group, oldest first.
pub(crate) type Members = VecDeque<TaskRef>;

/// The groups for which a worker waits, the innermost wait last.
#[derive(Default)]
pub(in crate::engine) struct Groups {
    /// Whether there are any.
    pub(in crate::engine) are_any: Cell<bool>,
    pub(in crate::engine) awaited: RefCell<Vec<(Group, Members)>>,
}

impl Groups {
    /// The woken futures of the innermost wait for a group.
    pub(super) fn members(awaited: &mut [(Group, Members)], group: Group) -> Option<&mut Members> {
        for (of, members) in awaited.iter_mut().rev() {
            if *of == group {
                return Some(members);
            }
        }
        None
    }

    /// Ends the innermost wait; returns the woken futures that are left.
    pub(super) fn end_wait(&self) -> Members {
        let mut awaited = self.awaited.borrow_mut();
        let left = awaited.pop();
        self.are_any.set(!awaited.is_empty());
        left.unwrap_or((Group(0), Members::new())).1
    }
}
