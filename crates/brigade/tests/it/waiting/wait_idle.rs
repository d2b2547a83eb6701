//! `wait_idle`: what it waits for and what it does not.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::busy::occupy;
use crate::support::policy::queue_kinds;
use brigade::{Idle, Pool};
use brigade_testkit::{Gate, Seed, spin_for, test};

#[test]
fn wait_idle_returns_at_once_when_nothing_was_ever_submitted() {
    for idle in [Idle::Park, Idle::Spin] {
        let pool = Pool::builder().threads(2).idle(idle).build().unwrap();
        assert!(pool.wait_idle());
        assert!(pool.wait_idle());
    }
}

/// S9a: `rusty_pool` returned early 140 times in 20,000 rounds.
///
/// The job has left the queue and has not begun: neither a length nor an idle count shows it.
#[test]
fn wait_idle_waits_for_a_job_that_is_taken_but_not_started() {
    let mut seed = Seed::printed();
    for (kind, pool) in queue_kinds(2) {
        for round in 0..3000 {
            let done = Arc::new(AtomicBool::new(false));
            let job = Arc::clone(&done);
            pool.execute(move || job.store(true, Ordering::Relaxed));
            spin_for(seed.micros(20));
            pool.wait_idle();
            assert!(done.load(Ordering::Relaxed), "returned early in round {round}, {kind}");
        }
    }
}

#[test]
fn wait_idle_waits_for_children_and_their_children() {
    fn tree(depth: u32, leaves: Arc<AtomicUsize>) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return;
        }
        for _ in 0..2 {
            let leaves = Arc::clone(&leaves);
            brigade::execute(move || tree(depth - 1, leaves));
        }
    }
    for (kind, pool) in queue_kinds(2) {
        for _ in 0..50 {
            let leaves = Arc::new(AtomicUsize::new(0));
            let root = Arc::clone(&leaves);
            pool.execute(move || tree(7, root));
            pool.wait_idle();
            assert_eq!(leaves.load(Ordering::Relaxed), 128, "{kind}");
        }
    }
}

/// Waves: each waiter's next job makes the others wait again, and yet all of them return.
#[test]
fn many_waiters_that_submit_again_after_each_wait_all_return() {
    for (kind, pool) in queue_kinds(2) {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let done = Arc::new(AtomicBool::new(false));
                        let job = Arc::clone(&done);
                        pool.execute(move || job.store(true, Ordering::Relaxed));
                        pool.wait_idle();
                        assert!(done.load(Ordering::Relaxed), "{kind}");
                    }
                });
            }
        });
    }
}

#[test]
fn wait_idle_wakes_every_waiter() {
    let (pool, gate) = (Pool::new(2), Gate::closed());
    occupy(&pool, &gate);
    thread::scope(|scope| {
        let (returned, returns) = mpsc::channel();
        for _ in 0..8 {
            let (pool, returned) = (&pool, returned.clone());
            scope.spawn(move || {
                pool.wait_idle();
                returned.send(()).unwrap();
            });
        }
        let early = returns.recv_timeout(Duration::from_millis(30));
        assert!(early.is_err(), "returned while two jobs run");
        gate.open();
        drop(returned);
        assert_eq!(returns.iter().count(), 8);
    });
}

/// It can't wait for itself.
#[test]
fn wait_idle_in_a_job_of_the_same_pool_returns_false() {
    let pool = Arc::new(Pool::new(2));
    let inner = Arc::clone(&pool);
    assert!(!pool.submit(move || inner.wait_idle()).join().unwrap());
    assert!(pool.wait_idle());
}

#[test]
fn wait_idle_timeout_is_never_early_and_says_whether_the_pool_is_idle() {
    let pool = Pool::new(1);
    let (go, wait) = std::sync::mpsc::channel::<()>();
    pool.execute(move || wait.recv().unwrap());
    for millis in [0, 1, 20] {
        let (timeout, begun) = (Duration::from_millis(millis), std::time::Instant::now());
        assert!(!pool.wait_idle_timeout(timeout));
        assert!(begun.elapsed() >= timeout);
    }
    go.send(()).unwrap();
    assert!(pool.wait_idle_timeout(Duration::from_secs(10)));
    assert!(pool.wait_idle_timeout(Duration::ZERO), "it is idle already");
}
