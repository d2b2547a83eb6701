//! Dropping a pool: nothing waits, and nothing is lost.

use std::sync::mpsc;

use brigade_testkit::{Gate, test};
use threadpool::ThreadPool;

use crate::occupy;

#[test]
fn the_last_clones_drop_runs_queued_jobs() {
    let gate = Gate::closed();
    let (told, tells) = mpsc::channel();
    let pool = ThreadPool::new(2);
    occupy(&pool, 2, &gate);
    for number in 0..100 {
        let told = told.clone();
        pool.execute(move || told.send(number).unwrap());
    }
    drop(told);
    let clone = pool.clone();
    drop(pool);
    clone.execute(|| ());
    drop(clone); // Returns although both threads wait for the gate.
    gate.open();
    let mut all: Vec<i32> = tells.iter().collect();
    all.sort_unstable();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
}

#[test]
fn the_threads_end_after_the_last_clone() {
    thread_local!(static LEAVES: std::cell::RefCell<Option<mpsc::Sender<()>>> = const { std::cell::RefCell::new(None) });
    let (left, leaves) = mpsc::channel::<()>();
    let pool = ThreadPool::new(1);
    pool.execute(move || LEAVES.set(Some(left)));
    drop(pool);
    assert!(leaves.recv().is_err(), "its thread-locals have been dropped");
}

#[test]
fn a_job_may_own_the_last_clone() {
    let gate = Gate::closed();
    let (told, tells) = mpsc::channel();
    let pool = ThreadPool::new(1);
    let (last, wait) = (pool.clone(), gate.clone());
    pool.execute(move || {
        wait.wait();
        last.execute(move || told.send(42).unwrap());
        drop(last);
    });
    drop(pool);
    gate.open();
    assert_eq!(tells.recv(), Ok(42));
    assert!(tells.recv().is_err());
}

#[test]
fn an_unwinding_job_may_drop_the_last_clone() {
    let (told, tells) = mpsc::channel();
    let gate = Gate::closed();
    let pool = ThreadPool::new(1);
    let (last, wait) = (pool.clone(), gate.clone());
    pool.execute(move || {
        let _last = last;
        wait.wait();
        panic!("expected");
    });
    pool.execute(move || told.send(()).unwrap());
    drop(pool);
    gate.open();
    assert_eq!(tells.recv(), Ok(()));
}
