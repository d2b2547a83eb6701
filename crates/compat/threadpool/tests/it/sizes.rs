//! How many threads there are, and what the counts say.

use std::sync::mpsc;
use std::thread;

use brigade_testkit::{Gate, Meeting, eventually, test};
use threadpool::{Builder, ThreadPool};

use crate::occupy;

#[test]
fn counts_separate_running_and_queued_jobs() {
    let (pool, gate) = (ThreadPool::new(4), Gate::closed());
    occupy(&pool, 4, &gate);
    (0..6).for_each(|_| pool.execute(|| ()));
    assert_eq!((pool.active_count(), pool.queued_count(), pool.max_count()), (4, 6, 4));
    gate.open();
    pool.join();
    assert_eq!((pool.active_count(), pool.queued_count(), pool.max_count()), (0, 0, 4));
}

#[test]
fn a_resize_runs_queued_and_interrupts_no_jobs() {
    let (mut pool, gate) = (ThreadPool::new(4), Gate::closed());
    occupy(&pool, 4, &gate);
    for _ in 0..6 {
        let gate = gate.clone();
        pool.execute(move || gate.wait());
    }
    assert_eq!((pool.active_count(), pool.queued_count()), (4, 6));
    pool.set_num_threads(8);
    eventually("eight threads have a job", || pool.active_count() == 8);
    assert_eq!((pool.queued_count(), pool.max_count()), (2, 8));
    pool.set_num_threads(3);
    assert_eq!((pool.active_count(), pool.queued_count(), pool.max_count()), (8, 2, 3));
    gate.open();
    pool.join();
    assert_eq!((pool.active_count(), pool.queued_count()), (0, 0));
    // No more than three now: a fourth job waits.
    let gate = Gate::closed();
    occupy(&pool, 3, &gate);
    pool.execute(|| ());
    assert_eq!((pool.active_count(), pool.queued_count()), (3, 1));
    gate.open();
}

#[test]
fn an_enlarged_idle_pool_has_all_its_threads() {
    let mut pool = ThreadPool::new(1);
    pool.set_num_threads(5);
    let gate = Gate::closed();
    occupy(&pool, 5, &gate);
    gate.open();
    #[expect(deprecated, reason = "it is part of the interface")]
    pool.set_threads(2);
    assert_eq!(pool.max_count(), 2);
}

#[test]
fn no_threads_at_all_is_a_panic() {
    let refused: [fn(); 4] = [
        || drop(ThreadPool::new(0)),
        || drop(ThreadPool::with_name("none".into(), 0)),
        || drop(Builder::new().num_threads(0)),
        || ThreadPool::new(1).set_num_threads(0),
    ];
    for refused in refused {
        assert!(std::panic::catch_unwind(refused).is_err());
    }
}

#[test]
fn the_default_is_the_parallelism() {
    let cpus = thread::available_parallelism().unwrap().get();
    assert_eq!(ThreadPool::default().max_count(), cpus);
    assert_eq!(Builder::new().build().max_count(), cpus);
    assert_eq!(Builder::default().build().max_count(), cpus);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pinned_jobs_default_pool_is_unpinned() {
    let cpus = || thread::available_parallelism().unwrap().get();
    let pinned = brigade::Pool::builder().threads(1).pin(brigade::Cpus::cores()).build().unwrap();
    let pool = pinned.submit(ThreadPool::default).join().unwrap();
    assert_eq!(pool.max_count(), cpus());
    let (sender, receiver) = mpsc::channel();
    for _ in 0..100 {
        let sender = sender.clone();
        pool.execute(move || sender.send(cpus()).unwrap());
    }
    drop(sender);
    assert!(receiver.iter().all(|seen| seen == cpus()));
}

/// Caught: a job that waits inside for another of the pool being replaced by one more thread.
#[test]
fn threads_never_exceed_the_number_asked_for() {
    let (pool, gate) = (ThreadPool::new(1), Gate::closed());
    let other = ThreadPool::new(1);
    occupy(&other, 1, &gate);
    let (tells, threads) = mpsc::channel();
    let (waits, tell) = (other.clone(), move || tells.send(thread::current().id()).unwrap());
    let tells_too = tell.clone();
    pool.execute(move || {
        tell();
        waits.join();
    });
    pool.execute(tells_too);
    // The thread runs the second job inside its wait.
    assert_eq!(threads.recv().unwrap(), threads.recv().unwrap());
    gate.open();
    pool.join();
}

#[test]
fn one_thread_runs_jobs_in_order() {
    let pool = ThreadPool::new(1);
    let (told, tells) = mpsc::channel();
    for number in 0..1000 {
        let (inner, told) = (pool.clone(), told.clone());
        pool.execute(move || {
            told.send(number).unwrap();
            inner.execute(move || told.send(1000 + number).unwrap());
        });
    }
    drop(told);
    let all: Vec<_> = tells.iter().collect();
    let position = |number| all.iter().position(|&other| other == number).unwrap();
    assert!((1..1000).all(|number| position(number - 1) < position(number)));
    assert!((1001..2000).all(|number| position(number - 1) < position(number)));
}

/// Caught: queues of each thread. One that takes several jobs at once starts the later ones too late, or never.
#[test]
fn groups_as_large_as_the_pool_meet_in_turn() {
    let (pool, (told, tells)) = (ThreadPool::new(4), mpsc::channel());
    for _ in 0..200 {
        let meeting = Meeting::of(4);
        for _ in 0..4 {
            let (attend, told) = (meeting.job(), told.clone());
            pool.execute(move || told.send(attend()).unwrap());
        }
    }
    drop(told);
    assert!(tells.iter().all(|met| met));
    pool.join();
}
