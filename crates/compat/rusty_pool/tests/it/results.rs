//! Results by a handle.

use std::sync::mpsc;

use brigade_testkit::{Gate, block_on, test};
use rusty_pool::ThreadPool;

use crate::{LONG, occupy};

#[test]
fn a_handle_returns_past_and_future_results() {
    let (pool, gate) = (ThreadPool::new(1, 1, LONG), Gate::closed());
    let ended = pool.evaluate(|| String::from("ended"));
    pool.join();
    occupy(&pool, 1, &gate);
    let queued = pool.evaluate(|| String::from("queued"));
    gate.open();
    assert_eq!(queued.await_complete(), "queued");
    assert_eq!(ended.try_await_complete().as_deref(), Ok("ended"));
}

#[test]
fn any_executor_polls_the_receiver() {
    let pool = ThreadPool::default();
    assert_eq!(block_on(pool.evaluate(|| 42).receiver), Ok(42));
    let mut handle = pool.evaluate(|| 42);
    pool.join();
    assert_eq!(handle.receiver.try_recv(), Ok(Some(42)));
}

#[test]
fn a_task_whose_handle_is_dropped_runs() {
    let (pool, (told, tells)) = (ThreadPool::default(), mpsc::channel());
    drop(pool.evaluate(move || told.send(42).unwrap()));
    assert_eq!(tells.recv(), Ok(42));
}

#[test]
fn a_task_may_await_another_tasks_handle() {
    let pool = ThreadPool::new(1, 2, LONG);
    let gate = Gate::closed();
    let wait = gate.clone();
    let first = pool.evaluate(move || {
        wait.wait();
        40
    });
    let second = pool.evaluate(move || first.await_complete() + 2);
    gate.open();
    assert_eq!(second.await_complete(), 42);
}

/// Caught: the original's `block_on`, which panics inside another.
#[test]
fn a_completed_future_may_await_another() {
    let pool = ThreadPool::new(2, 4, LONG);
    let inner = pool.clone();
    let outer = pool.complete(async move {
        let (first, second) = (inner.complete(async { 20 }), inner.complete(async { 22 }));
        first.await_complete() + second.receiver.await.unwrap()
    });
    assert_eq!(outer.await_complete(), 42);
}

#[test]
fn a_completed_future_occupies_its_thread() {
    let pool = ThreadPool::new(1, 1, LONG);
    let latch = brigade_testkit::Latch::default();
    let completed = pool.complete(latch.wait());
    brigade_testkit::eventually("it waits", || latch.waiting() == 1);
    let later = pool.evaluate(|| 42);
    assert_eq!((pool.get_current_worker_count(), pool.get_idle_worker_count()), (1, 0));
    latch.open();
    completed.await_complete();
    assert_eq!(later.await_complete(), 42);
}
