//! `join`: which work it waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use brigade_testkit::{Gate, Meeting, panics, test};
use rusty_pool::ThreadPool;

use crate::{LONG, occupy};

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn join_of_a_pool_without_work_returns() {
    let pool = ThreadPool::new(3, 10, LONG);
    pool.join();
    pool.execute(|| ());
    (0..3).for_each(|_| pool.join());
    pool.join_timeout(LONG);
}

/// Caught: 140 early returns in 20,000, with the original.
#[test]
fn join_waits_for_the_tasks_of_tasks() {
    fn fork(pool: ThreadPool, depth: usize, ran: Arc<AtomicUsize>) {
        if depth > 0 {
            for _ in 0..2 {
                let (inner, ran) = (pool.clone(), ran.clone());
                pool.execute(move || fork(inner, depth - 1, ran));
            }
        }
        ran.fetch_add(1, Ordering::SeqCst);
    }
    for _ in 0..100 {
        let (pool, ran) = (ThreadPool::new(1, 4, LONG), Arc::default());
        fork(pool.clone(), 7, Arc::clone(&ran));
        pool.join();
        assert_eq!(ran.load(Ordering::SeqCst), (1 << 8) - 1);
    }
}

#[test]
fn several_threads_join_and_all_return() {
    let pool = ThreadPool::new(1, 2, LONG);
    for _ in 0..20 {
        let (gate, ended) = (Gate::closed(), Arc::new(AtomicUsize::new(0)));
        occupy(&pool, 2, &gate);
        for _ in 0..10 {
            let ended = ended.clone();
            pool.execute(move || _ = ended.fetch_add(1, Ordering::SeqCst));
        }
        let meeting = Meeting::of(5);
        let joiners: Vec<_> = (0..4)
            .map(|number| {
                let (pool, meeting, ended) = (pool.clone(), meeting.clone(), ended.clone());
                thread::spawn(move || {
                    meeting.attend();
                    if number % 2 == 0 {
                        pool.join()
                    } else {
                        pool.join_timeout(LONG)
                    }
                    ended.load(Ordering::SeqCst)
                })
            })
            .collect();
        assert!(meeting.attend());
        gate.open();
        assert!(joiners.into_iter().map(|joiner| joiner.join().unwrap()).eq([10; 4]));
    }
}

/// Caught: a `join` for the tasks that there are when it is called.
#[test]
fn join_waits_for_work_submitted_meanwhile() {
    // A wrong `join` needs turns to be seen; a right one does not.
    let let_others_run = || (0..100).for_each(|_| thread::yield_now());
    let pool = ThreadPool::new(1, 1, LONG);
    for _ in 0..20 {
        let (first, second, begun) = (Gate::closed(), Gate::closed(), Gate::closed());
        occupy(&pool, 1, &first);
        let ((joins, joining), (told, tells)) = (mpsc::channel(), mpsc::channel());
        let joined = pool.clone();
        let joiner = thread::spawn(move || {
            joins.send(()).unwrap();
            joined.join();
            told.send(()).unwrap();
        });
        joining.recv().unwrap();
        let_others_run();
        let (wait, begins) = (second.clone(), begun.clone());
        pool.execute(move || {
            begins.open();
            wait.wait();
        });
        first.open();
        begun.wait();
        let_others_run();
        assert!(tells.try_recv().is_err(), "the second task runs");
        second.open();
        joiner.join().unwrap();
    }
}

#[test]
fn join_with_a_timeout_is_not_early() {
    let (pool, gate) = (ThreadPool::new(0, 1, LONG), Gate::closed());
    occupy(&pool, 1, &gate);
    let begun = Instant::now();
    pool.join_timeout(SHORT);
    assert!(begun.elapsed() >= SHORT);
    gate.open();
    pool.join();
    assert_eq!(pool.get_idle_worker_count(), 1);
}

#[test]
fn joining_its_own_pool_panics_or_times_out() {
    let pool = ThreadPool::new(1, 2, LONG);
    let inner = pool.clone();
    let said = pool.evaluate(move || {
        let joined = std::panic::catch_unwind(|| inner.join());
        panics::text(&*joined.unwrap_err()).map(String::from)
    });
    assert!(said.await_complete().is_some_and(|said| said.contains("its own pool")));
    let inner = pool.clone();
    let took = pool.evaluate(move || {
        let begun = Instant::now();
        inner.join_timeout(SHORT);
        begun.elapsed()
    });
    assert!(took.await_complete() >= SHORT);
    // Another pool's task may.
    let (other, (told, tells)) = (ThreadPool::new(1, 1, LONG), mpsc::channel());
    other.execute(move || {
        pool.join();
        told.send(()).unwrap();
    });
    assert_eq!(tells.recv(), Ok(()));
}
