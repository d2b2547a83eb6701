//! The scheduler of futures, and the guard that keeps a place for a future.

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

/// Queues the jobs of woken futures, and keeps track of waiting futures.
pub trait Schedule: Copy + Send + Sync + 'static {
    /// Whether any future that the calling thread polls must stop, even if it has not been asked to: the next operation
    /// [yields](brigade_sync::budget).
    const STOPS_ALL: fn() -> bool = || false;

    /// Whether the futures are [local](crate::Spawned::local).
    const IS_LOCAL: bool = false;

    /// Whether this future, which is pending, is cancelled now: the end of the pool does not wait for it.
    ///
    /// Called on the polling thread, after the poll.
    fn cuts(self, future: RunningFuture) -> bool {
        let _ = future;
        false
    }

    /// Whether the calling thread may drop the future: a [local](crate::Spawned::local) future is dropped on the thread of its
    /// creation.
    fn is_here(self) -> bool {
        true
    }

    /// Queues the job of a woken future.
    ///
    /// A job that will never run must be dropped, which cancels the future. But a future woken while [idle](Woken::Idle) must be
    /// [left](Job::leave), and then [ended](TaskRef::end): other code calls the waker, perhaps under a lock needed by the drop of the
    /// future.
    ///
    /// Called by the waking thread, or by the thread that has just polled the future. `class` is the [class](crate::JobHandle::class)
    /// of the future.
    fn schedule(self, job: Job, woken: Woken, class: u8);

    /// Takes a reference to a future before its first wait; returns a key for it, which must not be 0.
    ///
    /// The reference can wake the future, to cancel it. A future without any reference is cancelled.
    ///
    /// Called on the polling thread, after the poll.
    fn bind(self, task: TaskRef) -> u32;

    /// Reports the end of a future, once.
    ///
    /// `key` was returned by `bind`; it is 0 if the future never waited. `unclaimed` is the payload of a panic if no
    /// handle takes it.
    fn release(self, key: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>);

    /// Gives back the content [held](Guard::holds) by the [guard](Guard) of a future's first job. The future is cancelled;
    /// the job is [stale](Outcome::Stale), and may be queued for long.
    fn give_back(self) {}
}

/// A value kept in the job of a future until the first poll.
pub trait Guard: 'static {
    /// Returns whether it holds something to [give back](Schedule::give_back) as soon as the future is cancelled.
    fn holds(&self) -> bool {
        false
    }

    /// Drops the guard of a stale job, without the content, which has been given back.
    fn leave(self)
    where
        Self: Sized,
    {
    }

    /// Whether [`may_start`](Self::may_start) may return `false`: then only the job polls the future for the first time.
    fn decides(&self) -> bool {
        false
    }

    /// Returns whether the future may still be polled, or has missed the [deadline](crate::Cause::Deadline); asked once, before
    /// the first poll. It must not panic.
    fn may_start(&self) -> bool {
        true
    }
}

impl Guard for () {}
