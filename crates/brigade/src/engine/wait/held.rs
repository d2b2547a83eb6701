//! The permits of limited jobs, which waits release.
//!
//! A job that waits does not run, and the awaited job may need the permit. So a thread that sleeps in a wait holds no
//! permit: it first releases the permits of all jobs on its stack, because the jobs below wait, too. A wait returns
//! once the innermost limited job has a permit again. If that is a job below the waiting one, its own wait finds the
//! permit there.

use core::cell::RefCell;
use core::mem::ManuallyDrop;
use std::sync::Arc;

use brigade_sync::{Defer, OnceLock};

use crate::engine::key::Key;
use crate::engine::semaphore::{Permit, Semaphore, Waiter};
use crate::engine::sleep::events::blocked::Ask;

/// A limited job on a thread's stack.
struct Held {
    /// The pool whose jobs compete for the permits.
    pool: Key,
    semaphore: Arc<Semaphore>,
    /// `None` while the job waits.
    permit: Option<Permit>,
    /// Whether a wait acquires a permit now.
    acquires: bool,
}

brigade_sync::thread_local! {
    /// The limited jobs on this thread's stack, the innermost last. No destructor, so that it is there until the very end of the thread;
    /// it has no memory while no such job runs.
    static HELD: ManuallyDrop<RefCell<Vec<Held>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

fn with_innermost<R>(call: impl FnOnce(&mut Held) -> R) -> Option<R> {
    HELD.with(|held| held.borrow_mut().last_mut().map(call))
}

/// Calls a closure that runs a limited job of a pool, with its permit.
pub(crate) fn hold<R>(pool: Key, permit: Permit, call: impl FnOnce() -> R) -> R {
    let semaphore = permit.semaphore().clone();
    let held = Held { pool, semaphore, permit: Some(permit), acquires: false };
    HELD.with(|all| all.borrow_mut().push(held));
    // Dropped outside of the borrow: the permit wakes the next waiter.
    let _held = Defer(|| drop(HELD.with(|all| pop(&mut all.borrow_mut()))));
    call()
}

fn pop(all: &mut Vec<Held>) -> Option<Held> {
    let held = all.pop();
    if all.is_empty() {
        *all = Vec::new();
    }
    held
}

/// Releases the permits of all jobs on this thread's stack.
pub(super) fn release() {
    // No view exists.
    if ACQUIRE.get().is_none() {
        return;
    }
    let next = || HELD.with(|all| all.borrow_mut().iter_mut().find_map(|held| held.permit.take()));
    while let Some(permit) = next() {
        drop(permit);
    }
}

/// Waits until the innermost limited job on this thread's stack has a permit again. Set by the first limited view: all other
/// programs do not contain the function.
pub(super) static ACQUIRE: OnceLock<fn()> = OnceLock::new();

/// Waits until the innermost limited job on this thread's stack has a permit again.
#[inline]
pub(super) fn acquire_again() {
    if let Some(acquire) = ACQUIRE.get() {
        acquire();
    }
}

/// As [`acquire_again`]. `wait` waits for jobs of a pool.
pub(super) fn acquire_by(wait: fn(Key, Ask<'_>)) {
    let released = with_innermost(|held| {
        let is_released = held.permit.is_none() && !held.acquires;
        held.acquires |= is_released;
        if is_released { Some((held.pool, held.semaphore.clone())) } else { None }
    });
    let Some(Some((pool, semaphore))) = released else { return };
    let (mut waiter, mut permit) = (Waiter::new(semaphore.clone()), None);
    wait(pool, &mut |thread| {
        if let Some(thread) = thread {
            waiter.register(&thread.clone().into(), Some(thread.clone()));
        }
        permit = permit.take().or_else(|| semaphore.try_acquire());
        // In a forked child the permits are the parent's.
        permit.is_some() || !pool.is_here()
    });
    with_innermost(|held| (held.permit, held.acquires) = (permit, false));
}
