//! What a timer does when it is due, or when it never will be.

use core::task::Waker;
use std::sync::Arc;

use brigade_task::{Job, contain};

/// What a timer does when it is due.
pub(crate) enum Entry {
    /// Wakes a future.
    Wake(Waker),
    /// Queues a closure.
    Run(Scheduled),
}

/// A closure that runs at a given time.
pub(crate) trait Due: Send + Sync {
    /// Its time has come: makes a job of it, unless it was cancelled.
    fn due(self: Arc<Self>) -> Option<Job>;

    /// Its time will not come: drops it, if it is still there.
    fn abandon(&self);

    /// Whether it runs more than once.
    fn repeats(&self) -> bool;
}

/// A closure among the timers. Dropped before its time has come, it drops the closure.
pub(crate) struct Scheduled(Option<Arc<dyn Due>>);

impl Drop for Scheduled {
    fn drop(&mut self) {
        if let Some(due) = self.0.take() {
            due.abandon();
        }
    }
}

impl Scheduled {
    /// Whether it runs more than once.
    pub(super) fn repeats(&self) -> bool {
        self.0.as_ref().is_some_and(|due| due.repeats())
    }
}

impl Entry {
    /// Whether it is for a closure.
    pub(crate) fn is_closure(&self) -> bool {
        matches!(self, Self::Run(_))
    }

    /// For a closure.
    pub(crate) fn run(due: Arc<dyn Due>) -> Self {
        Self::Run(Scheduled(Some(due)))
    }

    /// Wakes the future, or passes the closure's job to `queue`. A panic of a waker is contained.
    ///
    /// Calls user code: a worker must call it outside of every lock.
    pub(crate) fn fire(self, queue: &mut impl FnMut(Job)) {
        match self {
            Self::Wake(waker) => contain(|| waker.wake()),
            Self::Run(mut scheduled) => {
                let job = scheduled.0.take().and_then(Due::due);
                job.into_iter().for_each(queue);
            }
        }
    }

    /// Its time will not come, as the pool has ended: a task that waits is woken, to set its timer elsewhere; a closure is
    /// dropped.
    ///
    /// Calls user code, outside of every lock.
    pub(crate) fn give_up(self) {
        if let Self::Wake(waker) = self {
            contain(|| waker.wake());
        }
    }
}
