//! Spawned futures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use brigade_testkit::{Latch, eventually, test};
use rusty_pool::ThreadPool;

use crate::LONG;

#[test]
fn a_pending_future_occupies_no_thread() {
    let (pool, latch) = (ThreadPool::new(1, 1, LONG), Latch::default());
    let waits = pool.spawn_await(latch.wait());
    eventually("it waits", || latch.waiting() == 1);
    assert_eq!(pool.evaluate(|| 42).await_complete(), 42);
    eventually("the thread is idle", || pool.get_idle_worker_count() == 1);
    latch.open();
    waits.await_complete();
}

#[test]
fn join_does_not_wait_for_a_pending_future() {
    let (pool, latch) = (ThreadPool::new(1, 2, LONG), Latch::default());
    let mut waits = pool.spawn_await(latch.wait());
    pool.join();
    assert_eq!((latch.waiting(), waits.receiver.try_recv()), (1, Ok(None)));
    latch.open();
    pool.join();
    assert_eq!(waits.receiver.try_recv(), Ok(Some(())));
}

#[test]
fn a_future_outlives_the_last_clone() {
    let (pool, latch, (told, tells)) =
        (ThreadPool::new(1, 2, LONG), Latch::default(), mpsc::channel());
    let wait = latch.wait();
    pool.spawn(async move {
        wait.await;
        told.send(42).unwrap();
    });
    eventually("it waits", || latch.waiting() == 1);
    pool.shutdown();
    latch.open();
    assert_eq!(tells.recv(), Ok(42));
}

/// Caught: the original's queue entry for each wake, and its task that is run by two threads at once.
#[test]
fn one_thread_at_a_time_polls_a_future() {
    let pool = ThreadPool::new(4, 4, LONG);
    let (latch, inside) = (Latch::default(), Arc::new(AtomicUsize::new(0)));
    let mut wait = Box::pin(latch.wait());
    let counted = inside.clone();
    let future = pool.spawn_await(std::future::poll_fn(move |context| {
        assert_eq!(counted.fetch_add(1, Ordering::SeqCst), 0);
        let polled = wait.as_mut().poll(context);
        counted.fetch_sub(1, Ordering::SeqCst);
        polled
    }));
    eventually("it waits", || latch.waiting() > 0);
    (0..10_000).for_each(|_| latch.wake_all());
    latch.open();
    assert_eq!(future.try_await_complete(), Ok(()));
}

#[test]
fn futures_await_each_other_on_one_thread() {
    let pool = ThreadPool::new(1, 1, LONG);
    let first = pool.spawn_await(async { 40 });
    let second = pool.spawn_await(async { first.receiver.await.map(|part| part + 2) });
    assert_eq!(second.await_complete(), Ok(42));
}
