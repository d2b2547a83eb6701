//! Futures on a pool. This module must not know scopes and timers.
//!
//! A future is a job that may be queued many times, but only once at a time. `brigade_task` runs it, the engine
//! queues it, and this module accepts it.

// First, because its methods come first in the documentation of `Handle`.
mod verbs;

mod block_on;
mod local;
mod local_pool;
mod named;
mod watched;
mod yield_now;

use core::any::Any;
use core::future::Future;
use core::pin::Pin;
use std::time::Instant;

use brigade_sync::time;
use brigade_task::{Guard, Job, Outcome, RunningFuture, Schedule, Spawned, TaskRef, Woken};

use crate::engine::{
    At, Group, Key, Permit, Worker, drop_off_pool, reach, reach_on_worker, reach_once, with_worker,
};
use crate::handle::deadlock::is_awaited;
use crate::handle::discards;
use crate::values::Priority;
pub use block_on::block_on;
pub(crate) use block_on::wait_for;
pub use local::spawn_local;
pub(crate) use local::spawn_local_as;
pub use local_pool::LocalPool;
pub(crate) use named::AsFuture;
pub(crate) use watched::{Boxed, Watched};
pub use yield_now::{YieldNow, yield_now};

/// The number of a future whose pool no longer exists, or belongs to another process.
const NOWHERE: u32 = u32::MAX;

/// The scheduler of a future: the pool, with the class of the future, and its group.
#[derive(Clone, Copy)]
struct OnPool<G>(Key, G);

/// What a future belongs to: a set, a scope, or nothing else, `()`, which takes no memory.
pub(crate) trait Belongs: Copy + Send + Sync + 'static {
    /// Whether it is of a scope: the end of the pool waits for it as for the scope.
    const IS_SCOPES: bool = false;

    fn group(self) -> Option<Group>;
}

impl Belongs for () {
    fn group(self) -> Option<Group> {
        None
    }
}

impl Belongs for Group {
    fn group(self) -> Option<Group> {
        Some(self)
    }
}

/// The group of a scope.
#[derive(Clone, Copy)]
struct OfScope(Group);

impl Belongs for OfScope {
    const IS_SCOPES: bool = true;

    fn group(self) -> Option<Group> {
        Some(self.0)
    }
}

impl<G: Belongs> Schedule for OnPool<G> {
    const STOPS_ALL: fn() -> bool = if G::IS_SCOPES { discards } else { stops };

    #[inline]
    fn schedule(self, job: Job, woken: Woken, class: u8) {
        let Self(key, group) = self;
        if !key.is_here() {
            // In a forked child: the job may have been in any state at the fork.
            return core::mem::forget(job);
        }
        if let Some(group) = group.group() {
            note_member(key, group, &job);
        }
        let refused = with_worker(move |worker| match worker {
            Some(own) if class == 0 && own.is_of(key) => own.resume(Priority::Normal, job, woken),
            _ => schedule_elsewhere(key, Priority::of_number(class), job, woken),
        });
        match (refused, woken) {
            (Ok(()), _) => {}
            // The thread that ends the pool drops the future: `engine/end/ENDING.md`.
            (Err(job), Woken::Idle) => job.leave(),
            // Drops the future, which is user code, outside of `CURRENT`.
            (Err(job), Woken::Polled) => drop_off_pool(key, job),
        }
    }

    fn cuts(self, future: RunningFuture) -> bool {
        !G::IS_SCOPES && cuts(self.0, future)
    }

    fn bind(self, task: TaskRef) -> u32 {
        bind(self.0, task)
    }

    fn release(self, number: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        release(self.0, number, outcome, unclaimed);
    }

    fn give_back(self) {
        reach(self.0, &mut |at| {
            if let Some(permits) = at.shared().and_then(|shared| shared.permits.as_ref()) {
                permits.give_back();
            }
        });
    }
}

/// Whether this pending future of the pool is cancelled now: the pool is closed, and no job of the pool waits for it.
#[inline]
fn cuts(pool: Key, future: RunningFuture) -> bool {
    reach_on_worker(pool, |at| {
        at.shared().is_some_and(|shared| shared.cuts(|| is_awaited(pool, future)))
    })
}

/// Whether the future polled by this worker must stop at its next operation.
fn stops() -> bool {
    with_worker(|own| {
        own.is_some_and(|Worker { shared, .. }| {
            let future = RunningFuture::innermost;
            shared.cuts(|| future().is_none_or(|future| is_awaited(shared.key, future)))
        })
    })
}

/// Lists a future that is about to wait; returns the number.
fn bind(key: Key, task: TaskRef) -> u32 {
    reach_on_worker(key, |at| match at.shared() {
        Some(shared) => shared.bind(task),
        None => {
            // In a forked child the task is never woken, and must not be dropped. Otherwise this is the only reference,
            // and dropping it cancels the task.
            if !key.is_here() {
                core::mem::forget(task);
            }
            NOWHERE
        }
    })
}

/// Counts an ended future, and removes it from the list.
fn release(key: Key, number: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
    reach_on_worker(key, |at| {
        at.count_released(outcome, unclaimed);
        if let Some(shared) = at.shared() {
            shared.release(number);
        }
    });
}

/// Notes a woken future of a group.
fn note_member(key: Key, group: Group, job: &Job) {
    with_worker(|worker| match worker {
        Some(own) if own.is_of(key) => own.note_member(group, job),
        _ => {}
    });
}

/// Queues a future woken by a foreign thread, or a future not of the default class. Returns the job if it will not be
/// polled any more.
#[inline(never)]
fn schedule_elsewhere(key: Key, class: Priority, job: Job, woken: Woken) -> Result<(), Job> {
    reach_once(key, |at| match at {
        At::Worker(worker) => worker.resume(class, job, woken),
        At::Outside(shared) => shared.resume(class, job),
        At::Gone(_) => Err(job),
    })
}

/// The data queued with a future until its first poll.
struct FirstPoll {
    /// Released at the first poll, by its drop.
    permit: Option<Permit>,
    /// Boxed, to fit in a word.
    deadline: Option<Box<Instant>>,
}

impl Guard for FirstPoll {
    fn decides(&self) -> bool {
        self.deadline.is_some()
    }

    fn may_start(&self) -> bool {
        self.deadline.as_ref().is_none_or(|at| time::now() < **at)
    }

    fn holds(&self) -> bool {
        self.permit.is_some()
    }

    fn leave(self) {
        if let Some(permit) = self.permit {
            permit.leave();
        }
    }
}

/// Makes a job of a future that has a permit, or needs none.
pub(crate) fn make_future<F>(
    key: Key,
    group: impl Belongs,
    future: F,
    permit: Option<Permit>,
    deadline: Option<Instant>,
) -> (Job, brigade_task::JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let first = FirstPoll { permit, deadline: deadline.map(Box::new) };
    let Spawned { job, handle } = Spawned::new(future, first, OnPool(key, group));
    (job, handle)
}

/// Makes a job of a future of a scope, which needs no permit, like a closure of a scope. Work of a scope has no class.
pub(crate) fn make_scopes(
    key: Key,
    group: Group,
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
) -> (Job, brigade_task::JoinHandle<()>) {
    make_future(key, OfScope(group), future, None, None)
}

/// Returns the future of a rejected job.
pub(crate) fn future_of<F: Future + 'static>(job: Job) -> F {
    let Ok(future) = job.into_future() else {
        unreachable!("a rejected job is what it was made of")
    };
    future
}
