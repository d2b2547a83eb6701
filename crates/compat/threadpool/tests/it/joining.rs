//! `join`: which work it waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use brigade_testkit::{Gate, Meeting, panics, test};
use threadpool::ThreadPool;

use crate::occupy;

#[test]
fn join_of_a_pool_without_work_returns() {
    ThreadPool::new(4).join();
    let pool = ThreadPool::new(4);
    pool.execute(|| ());
    (0..3).for_each(|_| pool.join());
}

/// Caught: a `join` that counts only what runs, or only what was submitted from outside.
#[test]
fn join_waits_for_the_jobs_of_jobs() {
    fn fork(pool: ThreadPool, depth: usize, ran: Arc<AtomicUsize>) {
        if depth > 0 {
            for _ in 0..2 {
                let (inner, ran) = (pool.clone(), ran.clone());
                pool.execute(move || fork(inner, depth - 1, ran));
            }
        }
        ran.fetch_add(1, Ordering::SeqCst);
    }
    for _ in 0..50 {
        let (pool, ran) = (ThreadPool::new(4), Arc::default());
        fork(pool.clone(), 8, Arc::clone(&ran));
        pool.join();
        assert_eq!(ran.load(Ordering::SeqCst), (1 << 9) - 1);
        assert_eq!((pool.queued_count(), pool.active_count()), (0, 0));
    }
}

#[test]
fn several_threads_join_and_all_return() {
    let pool = ThreadPool::new(2);
    for _ in 0..20 {
        let (gate, ended) = (Gate::closed(), Arc::new(AtomicUsize::new(0)));
        occupy(&pool, 2, &gate);
        for _ in 0..10 {
            let ended = ended.clone();
            pool.execute(move || _ = ended.fetch_add(1, Ordering::SeqCst));
        }
        let meeting = Meeting::of(5);
        let joiners: Vec<_> = (0..4)
            .map(|_| {
                let (pool, meeting, ended) = (pool.clone(), meeting.clone(), ended.clone());
                thread::spawn(move || {
                    meeting.attend();
                    pool.join();
                    ended.load(Ordering::SeqCst)
                })
            })
            .collect();
        assert!(meeting.attend());
        gate.open();
        let seen = joiners.into_iter().map(|joiner| joiner.join().unwrap());
        assert!(seen.eq([10; 4]));
    }
}

#[test]
fn join_waits_for_work_submitted_meanwhile() {
    let pool = ThreadPool::new(1);
    let (first, second) = (Gate::closed(), Gate::closed());
    occupy(&pool, 1, &first);
    let (told, tells) = mpsc::channel();
    let (joins, wait) = (pool.clone(), second.clone());
    let joiner = thread::spawn(move || {
        joins.join();
        told.send(()).unwrap();
    });
    pool.execute(move || wait.wait());
    first.open();
    while pool.queued_count() > 0 {
        thread::yield_now();
    }
    assert!(tells.try_recv().is_err(), "the second job runs");
    second.open();
    joiner.join().unwrap();
}

#[test]
fn a_job_joining_its_own_pool_panics() {
    let pool = ThreadPool::new(2);
    let (inner, (told, tells)) = (pool.clone(), mpsc::channel());
    pool.execute(move || {
        let joined = std::panic::catch_unwind(|| inner.join());
        let payload = joined.unwrap_err();
        told.send(panics::text(&*payload).map(String::from)).unwrap();
    });
    assert!(tells.recv().unwrap().is_some_and(|said| said.contains("its own pool")));
    pool.join();
    // Another pool's job may.
    let (other, (told, tells)) = (ThreadPool::new(1), mpsc::channel());
    other.execute(move || {
        pool.join();
        told.send(()).unwrap();
    });
    assert_eq!(tells.recv(), Ok(()));
}
