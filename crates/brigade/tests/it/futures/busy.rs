//! Futures that keep each other busy do not keep a pool that drains.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use async_channel::{Receiver, Sender, bounded};
use brigade::{
    JoinError, JoinHandle, LocalPool, Pool, Shutdown, TaskSet, block_on, spawn, spawn_local,
    submit, yield_now,
};
use brigade_testkit::{Drops, Gate, Latch, OnDrop, Token, eventually, test};

use crate::support::busy::{held, occupy};

type Busy = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Passes on each message.
async fn passes_on(token: Token, from: Receiver<()>, to: Sender<()>) {
    while from.recv().await.is_ok() && to.send(()).await.is_ok() {}
    drop(token);
}

/// Two futures that wake each other.
fn pair(drops: &Drops) -> [Busy; 2] {
    let ((to_one, one), (to_two, two)) = (bounded(1), bounded(1));
    to_one.try_send(()).unwrap();
    let [first, second] = [drops.token(), drops.token()];
    [Box::pin(passes_on(first, one, to_two)), Box::pin(passes_on(second, two, to_one))]
}

/// The same future, whose polls are counted.
fn counted(mut future: Busy, polls: &Arc<AtomicUsize>) -> Busy {
    let polls = polls.clone();
    Box::pin(std::future::poll_fn(move |context| {
        polls.fetch_add(1, Relaxed);
        future.as_mut().poll(context)
    }))
}

fn kinds() -> [fn(&Drops) -> Vec<Busy>; 4] {
    [
        |drops| pair(drops).into(),
        |drops| {
            let token = drops.token();
            vec![Box::pin(async move {
                let _token = token;
                while spawn(async {}).await.is_ok() {}
            })]
        },
        |drops| {
            let token = drops.token();
            vec![Box::pin(async move {
                let _token = token;
                while submit(|| ()).await.is_ok() {}
            })]
        },
        |drops| {
            let awaits_children = |token| async move {
                let _token = token;
                while spawn(yield_now()).await.is_ok() {}
            };
            vec![Box::pin(awaits_children(drops.token())), Box::pin(awaits_children(drops.token()))]
        },
    ]
}

/// Caught: the pool drained for ever.
#[test(threads in [1, 2, 4])]
fn a_dropped_pool_cancels_futures_that_keep_each_other_busy(threads: usize) {
    for busy in kinds() {
        let (pool, drops, polls) = (Pool::new(threads), Drops::default(), Arc::default());
        let futures = busy(&drops).into_iter().map(|future| pool.spawn(counted(future, &polls)));
        let handles: Vec<_> = futures.collect();
        eventually("they run", || polls.load(Relaxed) > 100);
        drop(pool);
        assert_eq!(drops.count(), handles.len());
        // The end of one may be the end of the other.
        let outcomes: Vec<_> = handles.into_iter().map(JoinHandle::join).collect();
        assert!(outcomes.iter().any(|outcome| matches!(outcome, Err(JoinError::Cancelled(_)))));
    }
}

/// Caught: they kept the jobs of a `LocalPool` from its end.
#[test]
fn a_dropped_local_pool_cancels_local_futures_that_keep_each_other_busy() {
    let (pool, drops) = (LocalPool::new().unwrap(), Drops::default());
    pair(&drops).into_iter().for_each(|future| drop(pool.spawn_local(future)));
    (0..10).for_each(|_| _ = pool.tick());
    drop(pool);
    assert_eq!(drops.count(), 2);
}

/// The end of the job depends on its future, which depends on nothing that runs.
#[test(threads in [1, 2, 4])]
fn they_do_not_keep_a_job_waiting_for_a_future_that_waits(threads: usize) {
    let waits: [fn() -> bool; 4] = [
        || spawn(pending::<()>()).join().is_err(),
        || block_on(async { spawn(pending::<()>()).await.is_err() }),
        || {
            let mut set = TaskSet::new(brigade::Handle::current().unwrap());
            set.spawn(pending::<()>());
            set.join_next().unwrap().is_err()
        },
        || spawn_local(pending::<()>()).join().is_err(),
    ];
    for wait in waits {
        let (pool, drops) = (Pool::new(threads), Drops::default());
        pair(&drops).into_iter().for_each(|future| drop(pool.spawn(future)));
        let job = pool.submit(wait);
        drop(pool);
        assert!(job.join().unwrap());
        assert_eq!(drops.count(), 2);
    }
}

#[test(threads in [1, 2])]
fn they_are_polled_as_long_as_a_closure_runs(threads: usize) {
    let (pool, gate, drops) = (Pool::new(threads + 1), Gate::closed(), Drops::default());
    let job = held(&pool, &gate);
    let polls = Arc::default();
    pair(&drops).into_iter().for_each(|future| drop(pool.spawn(counted(future, &polls))));
    pool.close();
    let before = polls.load(Relaxed);
    eventually("they are polled", || polls.load(Relaxed) > before + 100);
    assert_eq!(drops.count(), 0);
    gate.open();
    job.join().unwrap();
    drop(pool);
    assert_eq!(drops.count(), 2);
}

/// Caught: the thread of the closure counted as one that polls a future.
#[test]
fn they_are_polled_as_long_as_a_closure_runs_inside_the_poll_of_a_future() {
    let (pool, gate, end, drops) = (Pool::new(3), Gate::closed(), Gate::closed(), Drops::default());
    let (job, polls) = (held(&pool, &gate), Arc::default());
    pair(&drops).into_iter().for_each(|future| drop(pool.spawn(counted(future, &polls))));
    let (latch, begun) = (Latch::default(), Gate::closed());
    let (wakes, begins, ends) = (latch.wait(), begun.clone(), end.clone());
    let waits = pool.spawn(async move {
        wakes.await;
        let closure = move || {
            begins.open();
            ends.wait();
        };
        submit(closure).join().unwrap();
    });
    eventually("it waits", || latch.waiting() == 1);
    pool.close();
    // The workers note which futures they poll from the first poll on.
    let before = polls.load(Relaxed);
    eventually("they are polled", || polls.load(Relaxed) > before + 100);
    latch.open();
    begun.wait();
    gate.open();
    job.join().unwrap();
    let before = polls.load(Relaxed);
    eventually("they are polled on", || polls.load(Relaxed) > before + 10_000);
    assert_eq!(drops.count(), 0);
    end.open();
    drop(pool);
    assert_eq!(drops.count(), 2);
    assert!(waits.is_finished());
}

/// Caught: only the thread that closed the pool looked for jobs that wait for futures which wait.
#[test]
fn the_last_work_off_the_pool_ends_a_wait_for_a_future_that_waits() {
    let (pool, gate) = (Pool::new(2), Gate::closed());
    occupy(&pool, &gate);
    let (dropping, goes_on) = (Gate::closed(), Gate::closed());
    let captures = {
        let (dropping, goes_on) = (dropping.clone(), goes_on.clone());
        OnDrop(move || {
            dropping.open();
            goes_on.wait();
        })
    };
    let waits = pool.submit(|| spawn(pending::<()>()).join().is_err());
    let queued = pool.job().submit(move || drop(captures)).unwrap();
    let canceller = std::thread::spawn(move || queued.cancel());
    dropping.wait();
    let ends = std::thread::spawn(move || pool.shutdown(Shutdown::Drain));
    gate.open();
    // Now the job waits, if it is not too early.
    std::thread::sleep(Duration::from_millis(5));
    goes_on.open();
    assert!(canceller.join().unwrap() && waits.join().unwrap());
    assert_eq!(ends.join().unwrap().still_running, 0);
}
