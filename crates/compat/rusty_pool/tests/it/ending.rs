//! Dropping and shutting down: what waits, and that nothing is lost.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use brigade_testkit::{Gate, eventually, test};
use rusty_pool::ThreadPool;

use crate::{LONG, occupy};

/// Ways to end a pool without a wait.
const AT_ONCE: [fn(ThreadPool); 2] = [drop, ThreadPool::shutdown];

#[test]
fn the_last_clones_end_runs_queued_tasks() {
    for end in AT_ONCE {
        let (pool, gate, (told, tells)) =
            (ThreadPool::new(1, 2, LONG), Gate::closed(), mpsc::channel());
        occupy(&pool, 2, &gate);
        for number in 0..100 {
            let told = told.clone();
            pool.execute(move || told.send(number).unwrap());
        }
        drop(told);
        let clone = pool.clone();
        end(pool);
        clone.execute(|| ());
        end(clone); // Returns although both threads wait for the gate.
        gate.open();
        let mut all: Vec<i32> = tells.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }
}

#[test]
fn the_threads_end_after_the_last_clone() {
    thread_local!(static LEAVES: RefCell<Option<mpsc::Sender<()>>> = const { RefCell::new(None) });
    let ends: [fn(ThreadPool); 4] =
        [drop, ThreadPool::shutdown, ThreadPool::shutdown_join, |pool| {
            pool.shutdown_join_timeout(LONG)
        }];
    for end in ends {
        let (left, leaves) = mpsc::channel::<()>();
        let pool = ThreadPool::new(1, 2, LONG);
        pool.execute(move || LEAVES.set(Some(left)));
        end(pool);
        assert!(leaves.recv().is_err(), "its thread-locals have been dropped");
    }
    drop(ThreadPool::new(1, 2, LONG));
}

#[test]
fn shutdown_join_awaits_tasks_and_their_children() {
    for end in [ThreadPool::shutdown_join, |pool: ThreadPool| pool.shutdown_join_timeout(LONG)] {
        let (pool, gate, ran) =
            (ThreadPool::new(1, 2, LONG), Gate::closed(), Arc::new(AtomicUsize::new(0)));
        occupy(&pool, 2, &gate);
        for _ in 0..15 {
            let (inner, ran) = (pool.clone(), ran.clone());
            pool.execute(move || {
                let counted = ran.clone();
                inner.execute(move || _ = counted.fetch_add(1, Ordering::SeqCst));
                ran.fetch_add(1, Ordering::SeqCst);
            });
        }
        let opens = thread::spawn(move || gate.open());
        end(pool);
        assert_eq!(ran.load(Ordering::SeqCst), 30);
        opens.join().unwrap();
    }
    ThreadPool::new(1, 5, LONG).shutdown_join();
}

#[test]
fn shutdown_join_returns_at_its_timeout() {
    let (pool, gate) = (ThreadPool::new(1, 1, LONG), Gate::closed());
    occupy(&pool, 1, &gate);
    let queued = pool.evaluate(|| 42);
    let (begun, timeout) = (Instant::now(), Duration::from_millis(20));
    pool.shutdown_join_timeout(timeout);
    assert!(begun.elapsed() >= timeout);
    gate.open();
    assert_eq!(queued.await_complete(), 42);
}

#[test]
fn other_clones_go_on_after_a_shutdown() {
    let pool = ThreadPool::new(1, 2, LONG);
    pool.clone().shutdown();
    pool.clone().shutdown_join();
    pool.clone().shutdown_join_timeout(LONG);
    assert_eq!(pool.evaluate(|| 42).await_complete(), 42);
}

#[test]
fn a_task_may_own_the_last_clone() {
    let (pool, gate, (told, tells)) =
        (ThreadPool::new(1, 1, LONG), Gate::closed(), mpsc::channel());
    let (last, wait) = (pool.clone(), gate.clone());
    pool.execute(move || {
        wait.wait();
        last.execute(move || told.send(42).unwrap());
        last.shutdown();
    });
    drop(pool);
    gate.open();
    assert_eq!(tells.recv(), Ok(42));
    assert!(tells.recv().is_err());
}

#[test]
fn a_shutdown_of_a_growing_pool_loses_nothing() {
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..200 {
        let pool = ThreadPool::new(2, 4, Duration::ZERO);
        for _ in 0..10 {
            let ran = ran.clone();
            pool.execute(move || _ = ran.fetch_add(1, Ordering::SeqCst));
        }
        pool.shutdown();
    }
    eventually("all have run", || ran.load(Ordering::SeqCst) == 2000);
}
