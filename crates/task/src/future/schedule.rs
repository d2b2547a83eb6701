//! The scheduler of futures.

use core::any::Any;

use super::waker::TaskRef;
use crate::act::Outcome;
use crate::job::Job;

/// Queues the jobs of woken futures, and keeps track of the futures that wait.
pub trait Schedule: Copy + Send + Sync + 'static {
    /// Queues a job that polls a woken future.
    ///
    /// A job that will never run must be dropped, which cancels its future. `yielded` is set if the future was woken
    /// while it was polled: then other jobs should come first.
    ///
    /// Called by the thread that wakes the future, or by the thread that has just polled it.
    fn schedule(self, job: Job, yielded: bool);

    /// Takes a reference to a future that is about to wait for the first time; returns a key for it, which must not be 0.
    ///
    /// The reference can wake the future, to cancel it. A future without any reference is cancelled.
    ///
    /// Called by the thread that has just polled the future.
    fn bind(self, task: TaskRef) -> u32;

    /// Reports the end of a future, once.
    ///
    /// `key` is the one that `bind` returned, 0 if the future never waited. `unclaimed` is the payload of a panic that no
    /// handle takes.
    fn release(self, key: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>);

    /// Gives back what the [guard](super::Guard) of a future's first job [holds](super::Guard::holds): the future is cancelled, and that
    /// job is [stale](Outcome::Stale), and may be queued for long.
    fn give_back(self) {}
}
