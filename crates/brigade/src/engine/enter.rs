//! Threads that have entered a pool: the futures they spawn, their timers and their I/O resources belong to
//! it.

use core::cell::Cell;

use brigade_sync::Defer;
use brigade_task::enter_other;

use super::key::Key;
use super::shared::Shared;
use super::worker::{CURRENT, Worker};

brigade_sync::thread_local! {
    /// The pool last entered by this thread; `None` inside a job begun since.
    static ENTERED: Cell<Option<Key>> = const { Cell::new(None) };
}

/// Returns the pool entered by this thread.
#[inline]
pub(crate) fn entered() -> Option<Key> {
    ENTERED.try_with(Cell::get).unwrap_or(None)
}

/// Calls a closure that runs a job of this pool on one of its workers, inside a job to which it does not
/// belong.
#[inline]
pub(crate) fn enter_job<R>(shared: &Shared, call: impl FnOnce() -> R) -> R {
    enter_other(|| enter_pool(shared, call))
}

/// Calls a closure that runs a job on a worker of this pool, inside a job whose entered pool does not apply.
#[inline(always)]
pub(crate) fn enter_pool<R>(shared: &Shared, call: impl FnOnce() -> R) -> R {
    if entered().is_none() { call() } else { enter_pool_again(shared, call) }
}

#[cold]
#[inline(never)]
fn enter_pool_again<R>(shared: &Shared, call: impl FnOnce() -> R) -> R {
    let _entered = enter_as(None);
    shared.events.resources.enter(call)
}

/// Calls a closure on a thread that is no worker of this pool, which is then the current pool.
pub(crate) fn enter_outside(shared: &Shared, call: &mut dyn FnMut()) {
    outside(shared.key, &mut || shared.events.resources.enter(&mut *call));
}

/// Calls a closure on a thread that has entered this pool. A guest of another pool is none meanwhile.
pub(super) fn outside(key: Key, call: &mut dyn FnMut()) {
    let _entered = enter_as(Some(key));
    let is_guest = CURRENT.with(|own| own.is_some_and(Worker::is_guest));
    if is_guest { CURRENT.hide(call) } else { call() }
}

/// Enters a pool, or none, until the returned value is dropped.
pub(super) fn enter_as(key: Option<Key>) -> Defer<impl FnMut()> {
    let former = replace(key);
    Defer(move || _ = replace(former))
}

fn replace(key: Option<Key>) -> Option<Key> {
    ENTERED.try_with(|entered| entered.replace(key)).unwrap_or(None)
}
