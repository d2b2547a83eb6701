//! Models of the Waiter rule; `ci/loom.sh` runs them. A waiter that is not woken for a permit sleeps forever, and loom
//! reports a deadlock.

use std::sync::Arc;
use std::task::Waker;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::model::{check, turn};
use loom::thread;

use super::{Permit, Semaphore, Waiter};
use crate::engine::sleep::events::blocked::BlockedThread;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// Waits for a permit until `is_over` returns `true`.
fn acquire(semaphore: &Arc<Semaphore>, is_over: impl Fn() -> bool) -> Option<Permit> {
    let thread = Arc::new(BlockedThread::default());
    let mut waiter = Waiter::new(semaphore.clone());
    loop {
        waiter.register(&thread.clone().into(), Some(thread.clone()));
        let permit = semaphore.try_acquire();
        if permit.is_some() || is_over() {
            return permit;
        }
        thread.park(None);
    }
}

/// Caught: a leaving waiter that wakes no other; registering after the attempt instead of before it.
#[test]
fn a_leaving_waiter_takes_nothing() {
    check(3, || {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let mut leaving = Waiter::new(semaphore.clone());
        leaving.register(Waker::noop(), None);
        let waiter = thread::spawn(move || {
            turn();
            assert!(acquire(&semaphore, || false).is_some());
        });
        let leaver = thread::spawn(move || {
            turn();
            drop(leaving);
        });
        turn();
        drop(permit);
        leaver.join().unwrap();
        waiter.join().unwrap();
    });
}

/// Caught: an end without the waiters' lock.
#[test]
fn a_waiter_learns_of_the_end() {
    check(3, || {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let over = Arc::new(AtomicBool::new(false));
        let (other, seen) = (semaphore.clone(), over.clone());
        let waiter = thread::spawn(move || {
            turn();
            // Ordering: Relaxed: the waiters' lock orders it.
            assert!(acquire(&other, || seen.load(Ordering::Relaxed)).is_none());
        });
        turn();
        over.store(true, Ordering::Relaxed);
        semaphore.wake_all();
        waiter.join().unwrap();
        drop(permit);
    });
}
