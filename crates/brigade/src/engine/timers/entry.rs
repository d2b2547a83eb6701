//! The actions of a timer when it is due, or when its pool ends before.

use core::task::Waker;
use std::sync::Arc;

use brigade_task::{Job, contain};

use crate::values::Priority;

/// The action of a due timer.
///
/// The entry of a closure must be [run](Due::due) or [given up](Self::give_up), unless the closure has
/// been taken: if the entry is only dropped, the `Timer` keeps the closure alive.
pub(crate) enum Entry {
    /// Wakes a future.
    Wake(Waker),
    /// Queues a closure.
    Run {
        due: Arc<dyn Due>,
        /// The class of its jobs.
        class: Priority,
        /// Whether it runs more than once.
        repeats: bool,
    },
}

/// A closure that runs at a given time.
pub(crate) trait Due: Send + Sync {
    /// Makes the job that runs the due closure.
    fn due(self: Arc<Self>) -> Job;

    /// Drops the closure, if it still exists, because it will never be due.
    fn abandon(&self);
}

impl Entry {
    /// Whether the timer is for a closure.
    pub(crate) fn is_closure(&self) -> bool {
        matches!(self, Self::Run { .. })
    }

    /// Ends a timer that will never be due, because the pool has been closed or has ended. A waiting task is
    /// woken, to set its timer in another pool; a closure is dropped.
    ///
    /// Calls user code: the caller must not hold a lock.
    pub(crate) fn give_up(self) {
        match self {
            Self::Wake(waker) => contain(|| waker.wake()),
            Self::Run { due, .. } => due.abandon(),
        }
    }
}
