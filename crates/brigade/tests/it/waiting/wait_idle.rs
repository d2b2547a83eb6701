//! `wait_idle`: what it waits for and what it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::busy::held;
use crate::support::policy::queue_kinds;
use brigade::{Idle, Pool};
use brigade_testkit::{Gate, OnDrop, Seed, spin_for, test};

#[test(idle in [Idle::Park, Idle::Spin])]
fn wait_idle_returns_at_once_on_a_new_pool(idle: Idle) {
    let pool = Pool::builder().threads(2).idle(idle).build().unwrap();
    assert!(pool.wait_idle());
    assert!(pool.wait_idle());
}

/// S9a: `rusty_pool` returned early 140 times in 20,000 rounds.
///
/// The job has left the queue and has not begun: neither a length nor an idle count shows it.
#[test((kind, pool) in queue_kinds(2))]
fn wait_idle_waits_for_a_taken_unstarted_job(pool: Pool) {
    let mut seed = Seed::printed();
    for round in 0..3000 {
        let done = Arc::new(AtomicBool::new(false));
        let job = Arc::clone(&done);
        pool.execute(move || job.store(true, Ordering::Relaxed));
        spin_for(seed.micros(20));
        pool.wait_idle();
        assert!(done.load(Ordering::Relaxed), "returned early in round {round}");
    }
}

/// It can't wait for itself.
#[test]
fn wait_idle_in_a_job_of_the_pool_returns_false() {
    let pool = Arc::new(Pool::new(2));
    let inner = Arc::clone(&pool);
    assert!(!pool.submit(move || inner.wait_idle()).join().unwrap());
    assert!(pool.wait_idle());
}

/// Caught: the wait returned, as the pool had ended.
#[test(closes_first in [false, true])]
fn wait_idle_waits_for_foreign_drops_of_captures(closes_first: bool) {
    let (pool, gate, dropping) = (Pool::new(1), Gate::closed(), Gate::closed());
    let blocker = held(&pool, &gate);
    let is_dropped = Arc::new(AtomicBool::new(false));
    let captures = OnDrop({
        let (dropping, is_dropped) = (dropping.clone(), is_dropped.clone());
        move || {
            dropping.open();
            // A destructor that takes time.
            std::thread::sleep(Duration::from_millis(20));
            is_dropped.store(true, Ordering::Relaxed);
        }
    });
    let queued = pool.submit(move || drop(captures));
    if closes_first {
        pool.close();
    }
    let canceller = std::thread::spawn(move || queued.cancel());
    dropping.wait();
    pool.close();
    gate.open();
    blocker.join().unwrap();
    assert!(pool.wait_idle() && is_dropped.load(Ordering::Relaxed));
    assert!(canceller.join().unwrap());
}
