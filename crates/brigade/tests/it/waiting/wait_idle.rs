//! `wait_idle`: what it waits for and what it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::policy::queue_kinds;
use brigade::{Idle, Pool};
use brigade_testkit::{Seed, spin_for, test};

#[test(idle in [Idle::Park, Idle::Spin])]
fn wait_idle_returns_at_once_when_nothing_was_ever_submitted(idle: Idle) {
    let pool = Pool::builder().threads(2).idle(idle).build().unwrap();
    assert!(pool.wait_idle());
    assert!(pool.wait_idle());
}

/// S9a: `rusty_pool` returned early 140 times in 20,000 rounds.
///
/// The job has left the queue and has not begun: neither a length nor an idle count shows it.
#[test((kind, pool) in queue_kinds(2))]
fn wait_idle_waits_for_a_job_that_is_taken_but_not_started(pool: Pool) {
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
fn wait_idle_in_a_job_of_the_same_pool_returns_false() {
    let pool = Arc::new(Pool::new(2));
    let inner = Arc::clone(&pool);
    assert!(!pool.submit(move || inner.wait_idle()).join().unwrap());
    assert!(pool.wait_idle());
}
