//! What a timer does when it is due, or when its pool ends before that.

use core::task::Waker;
use std::sync::Arc;

use brigade_task::{Job, contain};

use crate::values::Priority;

/// What a timer does when it is due.
pub(crate) enum Entry {
    /// Wakes a future.
    Wake(Waker),
    /// Queues a closure.
    Run(Scheduled),
}

/// A closure that runs at a given time.
pub(crate) trait Due: Send + Sync {
    /// Makes a job of the closure, which is due, unless it was cancelled.
    fn due(self: Arc<Self>) -> Option<Job>;

    /// Drops the closure, if it still exists, as it will never be due.
    fn abandon(&self);

    /// Whether it runs more than once.
    fn repeats(&self) -> bool;

    /// The class of the job.
    fn class(&self) -> Priority;
}

/// A closure with a timer. Dropping this before the closure is due drops the closure.
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
    /// Whether the timer is for a closure.
    pub(crate) fn is_closure(&self) -> bool {
        matches!(self, Self::Run(_))
    }

    /// Makes the entry of a closure.
    pub(crate) fn run(due: Arc<dyn Due>) -> Self {
        Self::Run(Scheduled(Some(due)))
    }

    /// Wakes the future, or passes the closure's job to `queue`. A panic of a waker is contained.
    ///
    /// Calls user code: a worker must call it outside of every lock.
    pub(crate) fn fire(self, queue: &mut impl FnMut(Priority, Job)) {
        match self {
            Self::Wake(waker) => contain(|| waker.wake()),
            Self::Run(mut scheduled) => {
                let Some(due) = scheduled.0.take() else { return };
                let class = due.class();
                due.due().into_iter().for_each(|job| queue(class, job));
            }
        }
    }

    /// Ends a timer that will never be due, as the pool has ended: a waiting task is woken, to set its timer in another pool; a
    /// closure is dropped.
    ///
    /// Calls user code, outside of every lock.
    pub(crate) fn give_up(self) {
        if let Self::Wake(waker) = self {
            contain(|| waker.wake());
        }
    }
}
