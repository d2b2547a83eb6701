//! Spawned futures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use ::futures::channel::oneshot;
use ::futures::executor::block_on;
use brigade_testkit::{Drops, Latch, eventually, test};
use executors::FuturesExecutor;
use executors::crossbeam_channel_pool::ThreadPool;

use crate::{Row, on_futures};

#[test]
fn a_futures_handle_has_its_output() {
    fn check<E: FuturesExecutor>(row: &Row<E>) {
        let (pool, here) = ((row.make)(), thread::current().id());
        let (send, sent) = oneshot::channel::<u32>();
        let future = pool.spawn(async move { (sent.await, thread::current().id()) });
        pool.execute(move || send.send(42).unwrap());
        let (received, there) = block_on(future);
        assert_eq!(received, Ok(42), "{}", row.name);
        assert_ne!(there, here, "{}", row.name);
        let many: Vec<_> = (0..100).map(|number| pool.spawn(async move { number })).collect();
        let sum: u32 = block_on(async {
            let mut sum = 0;
            for one in many {
                sum += one.await;
            }
            sum
        });
        assert_eq!(sum, 4950, "{}", row.name);
        assert_eq!(pool.shutdown(), Ok(()), "{}", row.name);
    }
    on_futures!(check);
}

#[test]
fn a_pending_future_occupies_no_thread() {
    fn check<E: FuturesExecutor>(row: &Row<E>) {
        let (pool, latch, (told, tells)) = ((row.make)(), Latch::default(), mpsc::channel());
        let waits: Vec<_> = (0..100).map(|_| pool.spawn(latch.wait())).collect();
        eventually("all wait", || latch.waiting() >= 100);
        pool.execute(move || told.send(42).unwrap());
        assert_eq!(tells.recv(), Ok(42), "{}", row.name);
        latch.open();
        block_on(async {
            for one in waits {
                one.await;
            }
        });
    }
    on_futures!(check);
}

#[test]
fn a_handles_drop_cancels_but_detach_does_not() {
    fn check<E: FuturesExecutor>(row: &Row<E>) {
        let (pool, latch, (told, tells)) = ((row.make)(), Latch::default(), mpsc::channel());
        let (cancelled, detached) = (told.clone(), told);
        let (first, second) = (latch.wait(), latch.wait());
        drop(pool.spawn(async move {
            first.await;
            cancelled.send("cancelled").unwrap();
        }));
        let detach = pool.spawn(async move {
            second.await;
            detached.send("detached").unwrap();
        });
        detach.detach();
        latch.open();
        assert_eq!(tells.iter().collect::<Vec<_>>(), ["detached"], "{}", row.name);
        let pending = pool.spawn(std::future::pending::<()>());
        assert_eq!(block_on(pending.cancel()), None, "{}", row.name);
    }
    on_futures!(check);
}

#[test]
fn a_panic_reaches_the_awaiting_task_and_ends_no_thread() {
    fn check<E: FuturesExecutor>(row: &Row<E>) {
        let pool = (row.make)();
        for _ in 0..2 * row.threads {
            let panics = pool.spawn(async { panic!("expected") });
            assert_eq!(block_on(panics.fallible()), None::<()>, "{}", row.name);
        }
        assert_eq!(block_on(pool.spawn(async { 42 })), 42, "{}", row.name);
    }
    on_futures!(check);
}

#[test]
fn a_pending_future_keeps_the_executor() {
    fn check<E: FuturesExecutor>(row: &Row<E>) {
        let (pool, latch, (told, tells)) = ((row.make)(), Latch::default(), mpsc::channel());
        let wait = latch.wait();
        let future = pool.spawn(async move {
            wait.await;
            told.send(42).unwrap();
        });
        future.detach();
        eventually("it waits", || latch.waiting() >= 1);
        drop(pool);
        latch.open();
        assert_eq!(tells.recv(), Ok(42), "{}", row.name);
        assert!(tells.recv().is_err(), "{}", row.name);
    }
    on_futures!(check);
}

/// Caught: the original, whose handles wait forever then.
#[test]
fn a_shutdown_cancels_woken_and_new_futures() {
    fn check<E: FuturesExecutor>(row: &Row<E>) {
        let (pool, latch, drops) = ((row.make)(), Latch::default(), Drops::default());
        let (wait, token) = (latch.wait(), drops.token());
        let waits = pool.spawn(async move {
            let _token = token;
            wait.await;
        });
        eventually("it waits", || latch.waiting() >= 1);
        assert_eq!(pool.shutdown_borrowed(), Ok(()), "{}", row.name);
        latch.open();
        assert_eq!(block_on(waits.fallible()), None, "{}: woken", row.name);
        let token = drops.token();
        let late = pool.spawn(async move { drop(token) });
        assert_eq!(block_on(late.fallible()), None, "{}: spawned", row.name);
        assert_eq!(drops.count(), 2, "{}", row.name);
    }
    on_futures!(check);
}

#[test]
fn one_thread_at_a_time_polls_a_future() {
    let (pool, latch, inside) = (ThreadPool::new(4), Latch::default(), AtomicUsize::new(0));
    let (mut wait, inside) = (Box::pin(latch.wait()), Arc::new(inside));
    let future = pool.spawn(std::future::poll_fn(move |context| {
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
        let polled = wait.as_mut().poll(context);
        inside.fetch_sub(1, Ordering::SeqCst);
        polled
    }));
    eventually("it waits", || latch.waiting() > 0);
    (0..10_000).for_each(|_| latch.wake_all());
    latch.open();
    block_on(future);
}
