//! Which of the waiting jobs runs first.

use std::sync::mpsc;

use super::{CLASSES, sends};
use crate::support::busy::occupy;
use crate::support::policy::queue_kinds;
use brigade::{LocalPool, Pool, Priority, current_priority};
use brigade_testkit::{Gate, eventually, test};

#[test((kind, pool) in queue_kinds(1))]
fn high_jobs_run_first_and_low_ones_last(pool: Pool) {
    let ((ran, order), gate) = (mpsc::channel(), Gate::closed());
    occupy(&pool, &gate);
    for _ in 0..10 {
        for class in CLASSES {
            let tell = sends(&ran, move || (class, current_priority()));
            pool.job().priority(class).execute(tell).unwrap();
        }
    }
    let metrics = pool.metrics();
    let queued = (metrics.queued, metrics.queued_high, metrics.queued_low);
    assert_eq!(queued, (30, 10, 10));
    gate.open();
    drop(ran);
    let expected = CLASSES.into_iter().rev().flat_map(|class| [(class, class); 10]);
    assert!(order.iter().eq(expected));
}

#[test((kind, pool) in queue_kinds(1))]
fn a_high_job_overtakes_its_workers_queue(pool: Pool) {
    let (ran, order) = mpsc::channel();
    pool.execute(move || {
        for number in 1..=100 {
            brigade::execute(sends(&ran, move || number));
        }
        brigade::job().priority(Priority::High).execute(move || ran.send(0).unwrap()).unwrap();
    });
    assert_eq!(order.recv(), Ok(0));
    assert_eq!(order.iter().count(), 100);
}

#[test(class in [Priority::Low, Priority::High], (kind, pool) in queue_kinds(1))]
fn jobs_of_one_class_run_in_order(pool: Pool, class: Priority) {
    let ((ran, order), gate) = (mpsc::channel(), Gate::closed());
    occupy(&pool, &gate);
    for number in 0..100 {
        pool.job().priority(class).execute(sends(&ran, move || number)).unwrap();
    }
    gate.open();
    drop(ran);
    assert!(order.iter().eq(0..100));
}

/// Nothing of a class waits for the worker that submitted it.
#[test(
    class in [Priority::Low, Priority::High],
    children in [1, 20],
    (kind, pool) in queue_kinds(2)
)]
fn another_worker_takes_a_blocked_ones_jobs(pool: Pool, class: Priority, children: usize) {
    let blocked = pool.submit(move || {
        let (ran, runs) = mpsc::channel();
        for _ in 0..children {
            brigade::job().priority(class).execute(sends(&ran, current_priority)).unwrap();
        }
        drop(ran);
        // It waits for its thread's sake, not for the pool's: nothing tells the pool.
        runs.iter().filter(|&ran| ran == class).count()
    });
    assert_eq!(blocked.join().unwrap(), children);
}

#[test((kind, pool) in queue_kinds(2))]
fn a_high_job_runs_beside_always_busy_workers(pool: Pool) {
    let stop = Gate::closed();
    for _ in 0..4 {
        let stop = stop.clone();
        pool.execute(move || super::waits::go_on(&stop, || ()));
    }
    let (ran, runs) = mpsc::channel();
    for _ in 0..100 {
        pool.job().priority(Priority::High).execute(sends(&ran, || ())).unwrap();
        runs.recv().unwrap();
    }
    stop.open();
    assert!(pool.wait_idle());
}

#[test(class in CLASSES)]
fn a_job_of_any_class_starts_a_first_thread(class: Priority) {
    let pool = Pool::builder().threads(0..=1).build().unwrap();
    let job = pool.job().priority(class).submit(current_priority).unwrap();
    assert_eq!(job.join().unwrap(), class);
}

#[test((kind, pool) in queue_kinds(2))]
fn idle_workers_are_woken_for_each_class(pool: Pool) {
    for round in 0..200 {
        let class = [Priority::Low, Priority::High][round % 2];
        let (ran, runs) = mpsc::channel();
        pool.job().priority(class).execute(move || ran.send(()).unwrap()).unwrap();
        runs.recv().unwrap();
        if round % 20 == 0 {
            eventually("all workers sleep", || {
                let metrics = pool.metrics();
                metrics.idle_threads == metrics.threads
            });
        }
    }
    assert!(pool.wait_idle());
}

#[test]
fn a_pool_without_threads_keeps_the_order() {
    let pool = LocalPool::new().unwrap();
    let (ran, order) = mpsc::channel();
    for class in CLASSES {
        let (ran, child) = (ran.clone(), ran.clone());
        let tell = move || {
            ran.send(current_priority()).unwrap();
            brigade::execute(move || child.send(current_priority()).unwrap());
        };
        pool.handle().job().priority(class).execute(tell).unwrap();
    }
    assert!(pool.tick());
    assert_eq!(order.try_recv(), Ok(Priority::High));
    pool.run_until_idle();
    drop(ran);
    let rest = [Priority::High, Priority::Normal, Priority::Normal, Priority::Low, Priority::Low];
    assert!(order.iter().eq(rest));
}
