//! Jobs and other threads may use the workers' `thread::park` tokens: brigade does not rely on
//! them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::jobs::churn::rounds_of_add_and_wait;
use crate::support::roll_call::on_every_worker;
use brigade::Pool;
use brigade_testkit::{Seed, spin_for, test};

#[test]
fn jobs_that_unpark_their_thread_strand_nothing() {
    let pool = Pool::new(2);
    for round in 0..200_u64 {
        pool.execute(move || {
            thread::current().unpark();
            thread::park_timeout(Duration::from_micros(round % 50));
            thread::park_timeout(Duration::from_micros(round % 50));
            if round % 3 == 0 {
                thread::current().unpark();
            }
        });
    }
    pool.wait_idle();
    rounds_of_add_and_wait(&pool, 300, &mut Seed::printed());
}

/// `Once` and the output lock park their waiters with the same tokens.
#[test]
fn waits_inside_std_strand_nothing() {
    let pool = Pool::new(4);
    for _ in 0..100 {
        let cell = Arc::new(OnceLock::new());
        pool.job()
            .execute_batch((0..8).map(|n| {
                let cell = Arc::clone(&cell);
                move || {
                    let slow = || {
                        spin_for(Duration::from_micros(50));
                        n
                    };
                    assert!(*cell.get_or_init(slow) < 8);
                    println!("job {n}");
                }
            }))
            .unwrap();
        pool.wait_idle();
    }
    rounds_of_add_and_wait(&pool, 300, &mut Seed::printed());
}

#[test]
fn constant_foreign_unparks_strand_nothing() {
    let (pool, stop) = (Pool::new(2), AtomicBool::new(false));
    let workers: Vec<Thread> = on_every_worker(&pool, thread::current);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                workers.iter().for_each(Thread::unpark);
                spin_for(Duration::from_micros(20));
                thread::yield_now();
            }
        });
        rounds_of_add_and_wait(&pool, 300, &mut Seed::printed());
        pool.wait_idle();
        stop.store(true, Ordering::Relaxed);
    });
    drop(pool);
}
