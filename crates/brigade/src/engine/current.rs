//! The calling thread's worker, for code that knows no worker.

use core::cell::Cell;

use brigade_sync::Defer;

use super::key::Key;
use crate::values::WorkerInfo;

brigade_sync::thread_local! {
    /// The pool and the index of this thread's worker.
    static WORKER: Cell<Option<(Key, usize)>> = const { Cell::new(None) };
}

brigade_sync::scoped_thread_local! {
    /// The former worker whose stop hook this thread calls.
    static STOPPING: WorkerInfo
}

/// Calls the stop hook of a worker.
pub(super) fn stop_as(worker: &WorkerInfo, call: impl FnOnce()) {
    STOPPING.set(worker, call);
}

/// The former worker whose stop hook the calling thread calls.
pub(crate) fn stopping() -> Option<WorkerInfo> {
    STOPPING.with(|worker| worker.cloned())
}

/// The index of the calling thread's worker in the pool `key`.
pub(super) fn index_in(key: Key) -> Option<usize> {
    match WORKER.try_with(Cell::get) {
        Ok(Some((pool, index))) if pool == key => Some(index),
        _ => None,
    }
}

/// Whether the calling thread is a worker of the pool `key`.
pub(super) fn is_worker_of(key: Key) -> bool {
    index_in(key).is_some()
}

/// Makes the calling thread this worker until the returned value is dropped.
pub(super) fn work_as(key: Key, index: usize) -> Defer<impl FnMut()> {
    let former = WORKER.with(|worker| worker.replace(Some((key, index))));
    Defer(move || WORKER.with(|worker| worker.set(former)))
}
