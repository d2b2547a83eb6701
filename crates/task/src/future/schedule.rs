//! The scheduler of futures, and what keeps a place for one.

use core::any::Any;

use super::waker::TaskRef;
use crate::act::Outcome;
use crate::cell::RunningFuture;
use crate::job::Job;

/// When a future was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// While it waited.
    Idle,
    /// While it was polled: other jobs should come first.
    Polled,
}

/// Queues the jobs of woken futures, and keeps track of the futures that wait.
pub trait Schedule: Copy + Send + Sync + 'static {
    /// Whether any future that the calling thread polls must stop, even if it has not been asked to: its next operation
    /// [yields](brigade_sync::budget).
    const STOPS_ALL: fn() -> bool = || false;

    /// Whether the futures are [local](crate::Spawned::local).
    const IS_LOCAL: bool = false;

    /// Whether this future, which is pending, is cancelled now: the end of its pool does not wait for it.
    ///
    /// Called by the thread that has just polled the future.
    fn cuts(self, future: RunningFuture) -> bool {
        let _ = future;
        false
    }

    /// Whether the calling thread may drop the future: a [local](crate::Spawned::local) future is dropped on its own thread.
    fn is_here(self) -> bool {
        true
    }

    /// Queues a job that polls a woken future.
    ///
    /// A job that will never run must be dropped, which cancels its future. But a future woken while [idle](Woken::Idle) must be
    /// [left](Job::leave), and then [ended](TaskRef::end): other code calls the waker, perhaps under a lock that the drop of the future
    /// takes, too.
    ///
    /// Called by the thread that wakes the future, or by the thread that has just polled it.
    fn schedule(self, job: Job, woken: Woken);

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

    /// Gives back what the [guard](Guard) of a future's first job [holds](Guard::holds): the future is cancelled, and that
    /// job is [stale](Outcome::Stale), and may be queued for long.
    fn give_back(self) {}
}

/// What is kept in the job of a future until its first poll.
pub trait Guard: 'static {
    /// Returns whether it holds something that is [given back](Schedule::give_back) as soon as the future is cancelled.
    fn holds(&self) -> bool {
        false
    }

    /// Drops the guard of a stale job, without what has been given back.
    fn leave(self)
    where
        Self: Sized,
    {
    }

    /// Whether [`may_start`](Self::may_start) may return `false`: then only the job polls the future for the first time.
    fn decides(&self) -> bool {
        false
    }

    /// Returns whether the future may still be polled, or has missed its [deadline](crate::Cause::Deadline); asked once, before
    /// the first poll. It must not panic.
    fn may_start(&self) -> bool {
        true
    }
}

impl Guard for () {}
