//! Which worker the calling thread is, for code that knows no worker.

use core::cell::Cell;

use crate::key::Key;

#[cfg(not(brigade_loom))]
std::thread_local! {
    /// The pool that this thread is a worker of, and which.
    static WORKER: Cell<Option<(Key, usize)>> = const { Cell::new(None) };
}
#[cfg(brigade_loom)]
brigade_sync::thread_local! {
    /// As above; loom has no `const` here.
    static WORKER: Cell<Option<(Key, usize)>> = Cell::new(None);
}

/// Which worker of that pool the calling thread is.
pub(super) fn index_in(key: Key) -> Option<usize> {
    let worker = WORKER.try_with(Cell::get).ok().flatten();
    worker.filter(|&(pool, _)| pool == key).map(|(_, index)| index)
}

/// Whether it is one.
pub(super) fn is_worker_of(key: Key) -> bool {
    index_in(key).is_some()
}

/// Calls on a thread that is this worker meanwhile.
pub(super) fn work_as<R>(key: Key, index: usize, call: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            WORKER.with(|worker| worker.set(None));
        }
    }
    WORKER.with(|worker| worker.set(Some((key, index))));
    let _end = End;
    call()
}
