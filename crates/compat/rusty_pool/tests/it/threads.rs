//! The threads: how many there are, when they come and go, and their names.

use std::panic::catch_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use brigade_testkit::{Gate, Meeting, eventually, panics, test};
use rusty_pool::{Builder, MAX_SIZE, ThreadPool};

use crate::{LONG, occupy};

/// The threads, and those of them that are idle.
fn counts(pool: &ThreadPool) -> (usize, usize) {
    (pool.get_current_worker_count(), pool.get_idle_worker_count())
}

#[test]
fn each_task_starts_a_thread_up_to_the_core() {
    let pool = ThreadPool::new(3, 8, LONG);
    pool.join();
    assert_eq!(counts(&pool), (0, 0));
    for threads in [1, 2, 3, 3, 3] {
        pool.evaluate(|| ()).await_complete();
        assert_eq!(pool.get_current_worker_count(), threads);
        eventually("all are idle", || pool.get_idle_worker_count() == threads);
    }
}

#[test]
fn a_busy_pool_grows_from_core_to_maximum() {
    let (pool, gate) = (ThreadPool::new(1, 3, LONG), Gate::closed());
    for threads in [1, 2, 3] {
        occupy(&pool, 1, &gate);
        assert_eq!(counts(&pool), (threads, 0));
    }
    pool.execute(|| ());
    assert_eq!(counts(&pool), (3, 0));
    gate.open();
    pool.join();
    assert_eq!(counts(&pool), (3, 3));
    let gate = Gate::closed();
    occupy(&pool, 2, &gate);
    assert_eq!(counts(&pool), (3, 1));
    gate.open();
}

#[test]
fn only_surplus_threads_end_after_keep_alive() {
    for core in [0, 2] {
        let pool = ThreadPool::new(core, 4, Duration::from_millis(10));
        let gate = Gate::closed();
        occupy(&pool, 4, &gate);
        assert_eq!(counts(&pool), (4, 0));
        gate.open();
        eventually("those beyond the core size have ended", || counts(&pool) == (core, core));
        assert_eq!(pool.evaluate(|| 42).await_complete(), 42);
    }
}

/// Caught: a thread that is being started for a task counting as idle.
#[test]
fn no_thread_is_idle_beside_a_queued_task() {
    for _ in 0..50 {
        let (pool, gate) = (ThreadPool::new(5, 5, LONG), Gate::closed());
        for _ in 0..7 {
            let gate = gate.clone();
            pool.execute(move || gate.wait());
        }
        assert_eq!(counts(&pool), (5, 0));
        gate.open();
        pool.join();
        assert_eq!(counts(&pool), (5, 5));
    }
}

#[test]
fn core_threads_may_start_before_tasks() {
    let pool = ThreadPool::new(3, 8, LONG);
    pool.start_core_threads();
    assert_eq!(counts(&pool), (3, 3));
    pool.start_core_threads();
    assert_eq!(pool.get_current_worker_count(), 3);
    ThreadPool::new(0, 8, LONG).start_core_threads();
}

/// Caught: counting the threads that sleep, of which there are fewer for a moment after a task.
#[test]
fn after_a_join_all_threads_are_idle() {
    for _ in 0..200 {
        let pool = ThreadPool::new(2, 4, LONG);
        (0..20).for_each(|_| pool.execute(|| ()));
        pool.join();
        assert_eq!(pool.get_idle_worker_count(), pool.get_current_worker_count());
    }
}

/// Caught: a task that waits inside for another of the pool being replaced by one more thread.
#[test]
fn threads_never_exceed_the_maximum() {
    let (pool, other, gate) =
        (ThreadPool::new(1, 1, LONG), ThreadPool::new(1, 1, LONG), Gate::closed());
    let wait = gate.clone();
    let waits = other.evaluate(move || wait.wait());
    pool.execute(move || waits.await_complete());
    eventually("it waits", || counts(&pool) == (1, 0));
    pool.execute(|| ());
    assert_eq!(counts(&pool), (1, 0));
    gate.open();
    pool.join();
}

#[test]
fn thread_names_have_the_pool_and_a_unique_number() {
    let pool = ThreadPool::new_named("mine".into(), 0, 1, Duration::from_millis(1));
    assert_eq!(pool.get_name(), "mine");
    for number in 1..=3 {
        let name = pool.evaluate(|| thread::current().name().map(String::from)).await_complete();
        assert_eq!(name, Some(format!("mine_thread_{number}")));
        eventually("the thread has ended", || pool.get_current_worker_count() == 0);
    }
}

#[test]
fn a_nameless_pool_has_a_numbered_name() {
    let pools = [Builder::new().build(), ThreadPool::default(), ThreadPool::new(1, 1, LONG)];
    let number = |pool: &ThreadPool| {
        pool.get_name().strip_prefix("rusty_pool_").unwrap().parse::<u64>().unwrap()
    };
    let [first, second, third] = pools.each_ref().map(number);
    assert!(0 < first && first < second && second < third);
    let name = pools[2].evaluate(|| thread::current().name().map(String::from));
    assert_eq!(name.await_complete(), Some(format!("rusty_pool_{third}_thread_1")));
    assert_eq!(Builder::new().name("other".into()).build().get_name(), "other");
}

#[test]
fn impossible_sizes_panic_with_the_originals_texts() {
    const TOO_SMALL: &str =
        "max_size must be greater than 0 and greater or equal to the core pool size";
    let refused: [(&str, fn()); 6] = [
        (TOO_SMALL, || drop(ThreadPool::new(0, 0, LONG))),
        (TOO_SMALL, || drop(ThreadPool::new(10, 4, LONG))),
        ("max_size may not exceed", || drop(ThreadPool::new(1, MAX_SIZE + 1, LONG))),
        (TOO_SMALL, || drop(ThreadPool::new_named("none".into(), 0, 0, LONG))),
        (TOO_SMALL, || drop(Builder::new().core_size(2).max_size(1).build())),
        (TOO_SMALL, || drop(Builder::new().core_size(0).build())),
    ];
    for (text, refused) in refused {
        let payload = catch_unwind(refused).unwrap_err();
        assert!(panics::text(&*payload).unwrap().starts_with(text), "{text}");
    }
    drop(ThreadPool::new(0, MAX_SIZE, LONG));
    drop(Builder::new().core_size(MAX_SIZE).build());
}

#[test]
fn the_default_is_a_core_thread_for_each_cpu() {
    let cpus = thread::available_parallelism().unwrap().get();
    for pool in [ThreadPool::default(), Builder::new().build(), Builder::default().build()] {
        pool.start_core_threads();
        assert_eq!(pool.get_current_worker_count(), cpus);
        let gate = Gate::closed();
        occupy(&pool, 2 * cpus, &gate);
        pool.execute(|| ());
        assert_eq!(counts(&pool), (2 * cpus, 0));
        gate.open();
        pool.join();
    }
    let pool = Builder::new().max_size(1).build();
    pool.start_core_threads();
    assert_eq!(pool.get_current_worker_count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn threads_of_a_pinned_pools_job_run_on_all_cpus() {
    let cpus = || thread::available_parallelism().unwrap().get();
    let pinned = brigade::Pool::builder().threads(1).pin(brigade::Cpus::cores()).build().unwrap();
    let pool = ThreadPool::new(3, 3, LONG);
    let user = pool.clone();
    pinned.submit(move || (0..3).for_each(|_| user.execute(|| ()))).join().unwrap();
    let meeting = Meeting::of(3);
    let tasks = (0..3).map(|_| {
        let meeting = meeting.job();
        pool.evaluate(move || (meeting(), cpus()))
    });
    for task in tasks.collect::<Vec<_>>() {
        assert_eq!(task.await_complete(), (true, cpus()));
    }
    let default = pinned.submit(ThreadPool::default).join().unwrap();
    default.start_core_threads();
    assert_eq!(default.get_current_worker_count(), cpus());
}

#[test]
fn one_thread_runs_tasks_in_order() {
    let pool = ThreadPool::new(1, 1, LONG);
    let (told, tells) = mpsc::channel();
    for number in 0..1000 {
        let told = told.clone();
        pool.execute(move || told.send(number).unwrap());
    }
    drop(told);
    assert!(tells.iter().eq(0..1000));
}

/// Caught: queues of each thread. One that takes several tasks at once starts the later ones too late, or never.
#[test]
fn groups_as_large_as_the_pool_meet_in_turn() {
    let (pool, (told, tells)) = (ThreadPool::new(4, 4, LONG), mpsc::channel());
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
