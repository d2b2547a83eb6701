//! What a timer does when it is due, or when its pool ends before that.

use core::task::Waker;
use std::sync::Arc;

use brigade_task::{Job, contain};

use crate::values::Priority;

/// What a timer does when it is due.
///
/// The entry of a closure must be [fired](Self::fire) or [given up](Self::give_up), unless the closure has been taken: the `Timer` keeps
/// the closure alive where the entry is only dropped.
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
    /// Makes the job that runs the closure, which is due.
    fn due(self: Arc<Self>) -> Job;

    /// Drops the closure, if it still exists, as it will never be due.
    fn abandon(&self);
}

impl Entry {
    /// Whether the timer is for a closure.
    pub(crate) fn is_closure(&self) -> bool {
        matches!(self, Self::Run { .. })
    }

    /// Wakes the future, or passes the closure's job to `queue`. A panic of a waker is contained.
    ///
    /// Calls user code: a worker must call it outside of every lock.
    pub(crate) fn fire(self, queue: &mut impl FnMut(Priority, Job)) {
        match self {
            Self::Wake(waker) => contain(|| waker.wake()),
            Self::Run { due, class, .. } => queue(class, due.due()),
        }
    }

    /// Ends a timer that will never be due, as the pool has been closed or has ended: a waiting task is woken, to set its timer in
    /// another pool; a closure is dropped.
    ///
    /// Calls user code, outside of every lock.
    pub(crate) fn give_up(self) {
        match self {
            Self::Wake(waker) => contain(|| waker.wake()),
            Self::Run { due, .. } => due.abandon(),
        }
    }
}
