//! How other code reaches the pools without threads. A program that makes no such pool does not contain their functions.

use std::sync::Arc;

use brigade_sync::OnceLock;

use super::Awaited;
use crate::engine::key::Key;
use crate::engine::shared::Shared;
use crate::engine::sleep::events::blocked::BlockedThread;
use crate::engine::worker::{Worker, with_worker};

/// The pools without threads, as the calling thread sees them.
pub(crate) trait Driving: Sync {
    /// As [`wait_as`], on a thread that is no worker of the pool `key`; `false` if the thread can act as no other worker.
    fn wait_as_other(
        &self,
        key: Option<Key>,
        worker: Option<&Worker>,
        wait: &mut dyn FnMut(Option<&Worker>),
    ) -> bool;

    /// Whether the thread owns the pool `key`, and does not run it at the moment.
    fn owns(&self, key: Key) -> bool;

    /// Calls a closure as the worker of the pool `key`, if the thread owns it and the pool has not ended. Returns whether the thread owns it.
    fn run_owned(&self, key: Key, call: &mut dyn FnMut(&Worker)) -> bool;

    /// Gives a pool without a worker the one that threads act as. The calling thread is the first that has used it.
    fn share(&self, shared: Arc<Shared>);

    /// Notes that the thread uses a threadless pool.
    fn note_use(&self, key: Key);

    /// Fires the due timers of the pools of a wait, takes their I/O events, and runs a job of each, without waiting.
    fn catch_up(&self, key: Option<Key>);

    /// Sleeps as [`sleep_outside`](super::outside::sleep_outside) does.
    fn sleep(&self, key: Option<Key>, thread: &Arc<BlockedThread>, awaited: &mut dyn Awaited);

    /// Runs mail of the worker whose job runs the pool of `worker`, or a job of that pool if it has no threads either: no other thread
    /// may. `false` if there is none.
    fn run_below(&self, worker: &Worker) -> bool;
}

/// Set before the first pool without threads is made.
pub(super) static DRIVING: OnceLock<&'static dyn Driving> = OnceLock::new();

/// The pools without threads, if there may be any.
pub(crate) fn driving() -> Option<&'static dyn Driving> {
    DRIVING.get().copied()
}

/// Calls a closure that waits, once, with the calling thread's worker, or `None`. During the call the owner of the pool `key`
/// is its worker. Any other thread keeps its worker, or acts as the worker of the newest pool it owns. A wait for a job of a threadless
/// pool [sleeps outside](super::sleep_outside), where it becomes that pool's worker.
pub(crate) fn wait_as(key: Option<Key>, wait: &mut dyn FnMut(Option<&Worker>)) {
    with_worker(|worker| {
        let is_worker = worker.is_some_and(|worker| key.is_none_or(|key| worker.is_of(key)));
        match driving() {
            Some(driving) if !is_worker && driving.wait_as_other(key, worker, wait) => {}
            _ => wait(worker),
        }
    });
}

/// Runs a job for the worker whose job runs the pool of `worker`: see [`Driving::run_below`].
pub(super) fn run_below(worker: &Worker) -> bool {
    driving().is_some_and(|driving| driving.run_below(worker))
}

/// Whether the calling thread owns the pool `key`, and does not run it at the moment.
pub(crate) fn owns(key: Key) -> bool {
    driving().is_some_and(|driving| driving.owns(key))
}

/// Fires the due timers of the pools of a wait, takes their I/O events, and runs a job of each, without waiting.
pub(crate) fn catch_up(key: Option<Key>) {
    if let Some(driving) = driving() {
        driving.catch_up(key);
    }
}
