//! How other code reaches the pools without threads. A program that makes no such pool does not contain their functions.

use std::sync::Arc;

use brigade_sync::OnceLock;

use super::Awaited;
use crate::engine::key::Key;
use crate::engine::shared::Shared;
use crate::engine::sleep::events::blocked::BlockedThread;
use crate::engine::worker::{Worker, with_worker};

/// A closure that waits with a worker, or with none.
type WaitAs<'a> = &'a mut dyn FnMut(Option<&Worker>);

/// A closure called as a worker.
type CallAs<'a> = &'a mut dyn FnMut(&Worker);

/// The functions of pools without threads.
pub(crate) struct DrivenPools {
    /// As [`wait_as`], on a thread that is no worker of the pool; `false` if the thread can act as no other worker.
    pub(super) wait_as_other: fn(Option<Key>, Option<&Worker>, WaitAs<'_>) -> bool,
    /// Whether the thread runs pools without threads while it waits.
    pub(crate) serves: fn() -> bool,
    /// Whether the thread owns the pool, and does not run it at the moment.
    pub(super) owns: fn(Key) -> bool,
    /// Calls a closure as the worker of the pool, if the thread owns it and the pool has not ended. Returns whether the thread owns it.
    pub(crate) run_owned: fn(Key, CallAs<'_>) -> bool,
    /// Gives a pool without a worker the one that threads act as. The calling thread is the first that has used it.
    pub(crate) share: fn(Arc<Shared>),
    /// Notes that the thread uses a threadless pool.
    pub(in crate::engine) note_use: fn(Key),
    /// As [`catch_up`].
    pub(super) catch_up: fn(Option<Key>),
    /// As [`sleep_outside`](super::outside::sleep_outside).
    pub(super) sleep: fn(Option<Key>, &Arc<BlockedThread>, &mut dyn Awaited),
    /// Runs mail of the worker whose job runs this worker's pool, or a job of that pool if it has no threads either: no other thread
    /// may. `false` if there is none.
    pub(super) run_below: fn(&Worker) -> bool,
}

/// Set before the first pool without threads is made.
pub(super) static DRIVEN_POOLS: OnceLock<DrivenPools> = OnceLock::new();

/// The functions of pools without threads, if there may be such a pool.
pub(crate) fn driven_pools() -> Option<&'static DrivenPools> {
    DRIVEN_POOLS.get()
}

/// Calls a closure that waits, once, with the calling thread's worker, or `None`. During the call the owner of the pool `key`
/// is its worker. Any other thread keeps its worker, or acts as the worker of the newest pool it owns. A wait for a job of a threadless
/// pool [sleeps outside](super::sleep_outside), where it becomes that pool's worker.
pub(crate) fn wait_as(key: Option<Key>, wait: WaitAs<'_>) {
    with_worker(|worker| {
        let is_worker = worker.is_some_and(|worker| key.is_none_or(|key| worker.is_of(key)));
        match driven_pools() {
            Some(pools) if !is_worker && (pools.wait_as_other)(key, worker, wait) => {}
            _ => wait(worker),
        }
    });
}

/// Whether the calling thread owns the pool `key`, and does not run it at the moment.
pub(crate) fn owns(key: Key) -> bool {
    driven_pools().is_some_and(|pools| (pools.owns)(key))
}

/// Fires the due timers of the pools of a wait, takes their I/O events, and runs a job of each, without waiting.
pub(crate) fn catch_up(key: Option<Key>) {
    if let Some(pools) = driven_pools() {
        (pools.catch_up)(key);
    }
}
