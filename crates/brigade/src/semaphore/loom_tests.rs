//! Models of the Waiter rule; `ci/loom.sh` runs them. A waiter that is not woken for a permit sleeps forever, and loom reports
//! a deadlock.

use std::sync::Arc;
use std::task::Waker;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::model::{check, turn};
use loom::thread;

use super::{Semaphore, Sleeper, Waiter};

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// Waits for a permit on its own thread, and releases it.
fn waiter(semaphore: &Arc<Semaphore>) -> thread::JoinHandle<()> {
    let semaphore = semaphore.clone();
    thread::spawn(move || {
        turn();
        assert!(semaphore.acquire(None, || false).is_some());
    })
}

/// Caught: registering after the attempt instead of before it.
#[test]
fn a_waiter_gets_a_permit_that_is_given_back() {
    check(3, || {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let waiter = waiter(&semaphore);
        turn();
        drop(permit);
        waiter.join().unwrap();
    });
}

#[test]
fn two_waiters_both_get_a_permit() {
    check(3, || {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let waiters = [waiter(&semaphore), waiter(&semaphore)];
        turn();
        drop(permit);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}

/// Caught: no other woken by a waiter that leaves.
#[test]
fn a_waiter_that_leaves_takes_nothing_from_the_others() {
    check(3, || {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let mut leaving = Waiter::new(semaphore.clone());
        leaving.register(&Waker::from(Arc::new(Sleeper::default())));
        let waiter = waiter(&semaphore);
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

#[test]
fn a_waiter_learns_that_it_is_over() {
    check(3, || {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let over = Arc::new(AtomicBool::new(false));
        let (other, seen) = (semaphore.clone(), over.clone());
        let waiter = thread::spawn(move || {
            turn();
            // Ordering: Relaxed: the waiters' lock orders it.
            assert!(other.acquire(None, || seen.load(Ordering::Relaxed)).is_none());
        });
        turn();
        over.store(true, Ordering::Relaxed);
        semaphore.wake_outsiders();
        waiter.join().unwrap();
        drop(permit);
    });
}
