//! Calls of threads outside of a pool: on one of its workers, or on the thread itself, which forks for the pool meanwhile.

use std::panic::Location;
use std::sync::Arc;

use brigade_task::drop_contained;

use crate::engine::{CURRENT, Key, Shared, Worker, driven_pools, find, is_worker_of};
use crate::pool::here;
use crate::submission::watcher_of;
use crate::values::{Priority, Reason, Watcher};

/// Calls a closure that forks: as this thread's worker or guest, or else [from outside](from_outside).
#[track_caller]
pub(super) fn install_here<R: Send>(call: impl FnOnce() -> R + Send) -> R {
    if CURRENT.with(|worker| worker.is_some()) { call() } else { from_outside(call) }
}

/// Calls a closure that forks for the current pool, on a thread that is no worker: as a guest. If the thread runs pools without threads
/// while it waits, or can't be a guest, a worker of the pool calls the closure.
#[track_caller]
pub(super) fn from_outside<R: Send>(call: impl FnOnce() -> R + Send) -> R {
    let (pool, mut call, mut result) = (here(), Uncalled(Some(call)), None);
    if !driven_pools().is_some_and(|pools| (pools.serves)()) {
        let shared = accepted(find(pool.key).and_then(|shared| match shared.is_closed() {
            false => Ok(shared),
            true => Err(shared.refusal()),
        }));
        let outside = watcher_of(pool.key, Location::caller(), None, Some(Priority::Normal));
        let mut run = || result = call.0.take().map(|call| outside.run_call(call));
        outside.lend(|| shared.call_as_guest(&mut run));
    }
    match result {
        Some(result) => result,
        None => accepted(pool.install(call.take())),
    }
}

#[track_caller]
pub(crate) fn accepted<R>(result: Result<R, Reason>) -> R {
    match result {
        Ok(result) => result,
        Err(reason) => panic!("cannot run on the pool: {reason}"),
    }
}

/// Calls a closure for borrowing work on a pool: with `None` on a worker of the pool, and with the pool and this call on
/// a foreign thread. A thread that owns the pool calls the closure as its worker.
pub(super) fn borrow<R>(
    pool: Key,
    place: &'static Location<'static>,
    call: impl FnOnce(Option<(&Arc<Shared>, &Watcher)>) -> Result<R, Reason>,
) -> Result<R, Reason> {
    if is_worker_of(pool) {
        return call(None);
    }
    let shared = find(pool)?;
    let outside = watcher_of(pool, place, None, Some(Priority::Normal));
    outside.lend(|| {
        let (mut call, mut result) = (Some(call), None);
        let mut run = |_: &Worker| {
            if !shared.is_closed() {
                result = call.take().map(|call| outside.run_call(|| call(None)));
            }
        };
        let is_own = driven_pools().is_some_and(|pools| (pools.run_owned)(pool, &mut run));
        match (result, call) {
            (Some(result), _) => result,
            (None, Some(call)) if !is_own => call(Some((&shared, &outside))),
            _ => Err(shared.refusal()),
        }
    })
}

/// A closure whose drop is contained if it is not called.
pub(super) struct Uncalled<F>(pub(super) Option<F>);

impl<F> Uncalled<F> {
    pub(super) fn take(mut self) -> F {
        let Some(closure) = self.0.take() else { unreachable!("it is taken once") };
        closure
    }
}

impl<F> Drop for Uncalled<F> {
    fn drop(&mut self) {
        drop_contained(self.0.take());
    }
}
