//! Futures on a pool.
//!
//! A future is a job that may be queued many times, and at most once at a time. `brigade_task` runs it, the engine queues it,
//! and this module accepts it.

// First, as its methods come first in the documentation of `Handle`.
mod verbs;

mod block_on;
#[cfg(any(feature = "executor", feature = "futures", feature = "hyper"))]
mod integrations;
mod local;
mod yield_now;

use core::any::Any;
use core::future::Future;
use core::pin::Pin;
use std::time::Instant;

use brigade_task::{Guard, Job, Outcome, Schedule, Spawned, TaskRef, drop_contained};

use crate::config::WhenFull;
use crate::engine::drop_off_pool;
use crate::join::JoinHandle;
use crate::key::Key;
use crate::registry::{At, reach};
use crate::rejected::Rejected;
use crate::semaphore::Permit;
use crate::submission::{accept, submit_admitted, submit_job};
pub use block_on::block_on;
pub use local::spawn_local;
pub use yield_now::{YieldNow, yield_now};

/// The number of a future whose pool no longer exists, or belongs to another process.
const NOWHERE: u32 = u32::MAX;

/// The scheduler of a future: its pool.
#[derive(Clone, Copy)]
struct OnPool(Key);

impl Schedule for OnPool {
    fn schedule(self, job: Job, yielded: bool) {
        let Self(key) = self;
        if !key.is_here() {
            // In a forked child: it may have been in any state at the fork.
            return core::mem::forget(job);
        }
        let refused = reach(key, |at| match at {
            At::Worker(worker) => worker.resume(job, yielded),
            At::Outside(core) => core.resume(job),
            At::Gone(_) => Err(job),
        });
        // Drops the future, which is user code, outside of `reach`.
        if let Err(job) = refused {
            drop_off_pool(key, job);
        }
    }

    fn bind(self, task: TaskRef) -> u32 {
        reach(self.0, |at| match at.core() {
            Some(core) => core.bind(task),
            None => {
                // In a forked child it is never woken, and must not be dropped. Otherwise there is no other reference to it,
                // and it is cancelled.
                if !self.0.is_here() {
                    core::mem::forget(task);
                }
                NOWHERE
            }
        })
    }

    fn release(self, number: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        reach(self.0, |at| match at {
            At::Worker(worker) => worker.release(number, outcome, unclaimed),
            At::Outside(core) => core.release(number, outcome, unclaimed),
            // The pool no longer exists.
            At::Gone(_) => drop_contained(unclaimed),
        });
    }
}

/// What is queued with a future until its first poll.
struct FirstPoll {
    /// Released then, by its drop.
    _permit: Option<Permit>,
    /// Boxed, to fit in one word.
    deadline: Option<Box<Instant>>,
}

impl Guard for FirstPoll {
    fn may_start(&self) -> bool {
        self.deadline.as_ref().is_none_or(|at| Instant::now() < **at)
    }
}

/// Submits a future to the pool with this key, with the pool's policy or another one.
fn spawn<F>(
    key: Key,
    future: F,
    when_full: Option<WhenFull>,
    deadline: Option<Instant>,
) -> Result<JoinHandle<F::Output>, Rejected<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let make = |permit, future| make_future(key, future, permit, deadline);
    let spawned = match key.is_bounded() {
        true => submit_admitted(key, when_full, deadline, future, make, future_of),
        false => submit_job(make(None, future), |job| accept(key, job), future_of),
    };
    spawned.map(|handle| JoinHandle::new(handle, key))
}

/// Makes a job of a future that has a permit, or needs none.
pub(crate) fn make_future<F>(
    key: Key,
    future: F,
    permit: Option<Permit>,
    deadline: Option<Instant>,
) -> (Job, brigade_task::JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let first = FirstPoll { _permit: permit, deadline: deadline.map(Box::new) };
    let Spawned { job, handle } = Spawned::new(future, first, OnPool(key));
    (job, handle)
}

/// What is queued with a future of a scope: it needs no permit, as a closure of a scope.
struct OfScope;

impl Guard for OfScope {
    const BORROWS: bool = true;
}

/// Queues a future for which a thread waits that it borrows from, or drops it.
pub(crate) fn spawn_of_scope(key: Key, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
    let Spawned { job, handle } = Spawned::new(future, OfScope, OnPool(key));
    drop(handle);
    if let Err(rejected) = accept(key, job) {
        drop(future_of::<Pin<Box<dyn Future<Output = ()> + Send>>>(rejected.into_inner()));
    }
}

/// Queues a future that has a permit, or needs none.
pub(crate) fn queue_future<F>(
    at: At<'_>,
    future: F,
    permit: Option<Permit>,
    deadline: Option<Instant>,
) -> Result<brigade_task::JoinHandle<F::Output>, Rejected<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let Some(core) = at.core() else { return Err(at.rejected(future)) };
    let made = make_future(core.key, future, permit, deadline);
    submit_job(made, |job| at.accept_or_reject(job), future_of)
}

/// The future that a rejected job was made from.
fn future_of<F: Future + 'static>(job: Job) -> F {
    match job.into_future() {
        Ok(future) => future,
        Err(_) => unreachable!("a rejected job is what it was made of"),
    }
}
