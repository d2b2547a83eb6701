//! Futures at the end of their pool.

use std::future::pending;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
use std::thread;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::reports::counts;
use brigade::{Cause, Handle, JoinError, JoinHandle, Pool, Shutdown, TaskSet, block_on, yield_now};
use brigade_testkit::{Drops, Gate, Latch, Seed, Token, eventually, test};

/// Never ready, and counted when it is dropped.
async fn never(token: Token) {
    pending::<()>().await;
    drop(token);
}

#[test]
fn a_drained_pool_polls_a_joined_future() {
    let (pool, gate, drops) = (Pool::new(2), Gate::closed(), Drops::default());
    occupy(&pool, &gate);
    let handle = pool.handle();
    let job = pool.submit(move || {
        // The pool drains: what runs in it may still spawn, and be woken.
        let child = handle.spawn(async move { handle.submit(|| 40).await.unwrap() });
        child.join().unwrap() + 2
    });
    let never = pool.spawn(never(drops.token()));
    open_once_closed(&gate, pool.handle());
    let report = pool.shutdown(Shutdown::Drain);
    assert_eq!(job.join().unwrap(), 42);
    assert!(matches!(never.join(), Err(JoinError::Cancelled(Cause::Ended))));
    assert_eq!(counts(report), (5, 1, 0));
}

/// As long as a job runs, the pool has not ended, and a wake from any thread counts.
#[test]
fn a_draining_pool_can_be_woken_from_outside() {
    for _ in 0..200 {
        let (pool, gate, latch) = (Pool::new(2), Gate::closed(), Latch::default());
        let inner = gate.clone();
        pool.execute(move || inner.wait());
        let job = pool.spawn(latch.wait());
        eventually("it waits", || latch.waiting() == 1);
        let handle = pool.handle();
        let waker = thread::spawn(move || {
            eventually("the pool closes", || handle.metrics().is_closed);
            latch.open();
            let woken = block_on(job);
            gate.open();
            woken
        });
        let report = pool.shutdown(Shutdown::Drain);
        waker.join().unwrap().unwrap();
        assert_eq!(counts(report), (2, 0, 0));
    }
}

#[test]
fn a_pool_without_threads_cancels_pending_futures() {
    let builder = Pool::builder().threads(0..=2).keep_alive(std::time::Duration::from_micros(1));
    let (pool, drops) = (builder.build().unwrap(), Drops::default());
    let job = pool.spawn(never(drops.token()));
    eventually("its threads go", || pool.metrics().threads == 0);
    drop(pool);
    assert_eq!(drops.count(), 1);
    assert!(matches!(job.join(), Err(JoinError::Cancelled(Cause::Ended))));
}

/// Row 63: a circle of handles, inside the futures that wait for them.
#[test]
fn mutually_waiting_futures_go_with_their_pool() {
    let (pool, drops) = (Pool::new(2), Drops::default());
    let slots = [(); 2].map(|()| Arc::new(Mutex::new(None::<JoinHandle<()>>)));
    let future = |other: &Arc<Mutex<Option<JoinHandle<()>>>>, token: Token| {
        let other = other.clone();
        async move {
            let _token = token;
            let handle = loop {
                if let Some(handle) = other.lock().unwrap().take() {
                    break handle;
                }
                yield_now().await;
            };
            drop(handle.await);
        }
    };
    let first = pool.spawn(future(&slots[1], drops.token()));
    let second = pool.spawn(future(&slots[0], drops.token()));
    *slots[0].lock().unwrap() = Some(first);
    *slots[1].lock().unwrap() = Some(second);
    pool.wait_idle();
    assert_eq!(drops.count(), 0);
    drop(pool);
    assert_eq!(drops.count(), 2);
}

/// Row 59: the waking thread continues after the pool has run the future and ended.
#[test]
fn wakes_beside_the_end_lose_and_touch_nothing() {
    let mut seed = Seed::printed();
    for round in 0..1000 {
        let (pool, latch, drops) = (Pool::new(1 + round % 2), Latch::default(), Drops::default());
        let jobs: Vec<_> = (0..3)
            .map(|_| {
                let (waits, token) = (latch.wait(), drops.token());
                pool.spawn(async move {
                    waits.await;
                    drop(token);
                })
            })
            .collect();
        let delay = seed.micros(60);
        let wakers = thread::spawn(move || {
            brigade_testkit::spin_for(delay);
            latch.wake_all();
            latch.open();
            latch.take_wakers().into_iter().for_each(Waker::wake);
        });
        brigade_testkit::spin_for(seed.micros(60));
        let report = match round % 3 {
            0 => pool.shutdown(Shutdown::Discard),
            _ => pool.shutdown(Shutdown::Drain),
        };
        assert_eq!((report.ran + report.discarded, report.still_running), (3, 0));
        assert_eq!(drops.count(), 3);
        let cancelled = jobs.into_iter().filter(|job| job.is_finished()).map(JoinHandle::join);
        let cancelled =
            cancelled.filter(|outcome| matches!(outcome, Err(JoinError::Cancelled(Cause::Ended))));
        assert_eq!(cancelled.count() as u64, report.discarded);
        wakers.join().unwrap();
    }
}

/// Tells that it has been polled, and waits.
async fn told(polled: mpsc::Sender<()>) {
    polled.send(()).unwrap();
    pending().await
}

/// A pool that drains has nothing else left.
#[test]
fn the_end_of_a_pool_ends_a_join_of_a_pending_future() {
    type Way = fn(mpsc::Sender<()>);
    let ways: [(&str, Way); 5] = [
        ("join", |polled| _ = brigade::spawn(told(polled)).join()),
        ("block_on", |polled| _ = brigade::block_on(brigade::spawn(told(polled)))),
        ("a local future", |polled| _ = brigade::block_on(brigade::spawn_local(told(polled)))),
        ("a set", |polled| {
            let mut set = TaskSet::new(Handle::current().unwrap());
            set.spawn(told(polled));
            assert!(set.join_next().is_some_and(|outcome| outcome.unwrap_err().is_cancelled()));
        }),
        ("a scope", |polled| brigade::scope(|s| drop(s.spawn(told(polled))))),
    ];
    type Place = fn(Way, mpsc::Sender<()>);
    // Caught: a wait in a blocking call did not count as a wait for the pool's own jobs, and a drain never ended.
    let places: [(&str, Place); 6] = [
        ("a job", |wait, polled| wait(polled)),
        ("a blocking call", |wait, polled| brigade::blocking(|| wait(polled))),
        ("two blocking calls", |wait, polled| {
            brigade::blocking(|| brigade::blocking(|| wait(polled)));
        }),
        ("a join in a blocking call", |wait, polled| {
            brigade::blocking(|| brigade::join(|| wait(polled), || ()));
        }),
        ("a scope in a blocking call", |wait, polled| {
            brigade::blocking(|| brigade::scope(|s| s.execute(move || wait(polled))));
        }),
        ("a blocking call in a scope", |wait, polled| {
            brigade::scope(|s| s.execute(move || brigade::blocking(|| wait(polled))));
        }),
    ];
    for ((way, wait), (place, enter)) in
        ways.into_iter().flat_map(|way| places.map(|place| (way, place)))
    {
        for (threads, spare) in [(1, 1), (2, 2), (1, 0), (2, 0)] {
            for how in [Shutdown::Discard, Shutdown::Drain] {
                let pool = Pool::builder().threads(threads).spare_threads(spare).build().unwrap();
                let (polled, polls) = mpsc::channel();
                pool.execute(move || enter(wait, polled));
                polls.recv().unwrap();
                let report = pool.shutdown(how);
                let counts = (report.discarded, report.still_running);
                assert_eq!(counts, (1, 0), "{way} in {place}, {threads} and {spare}, {how:?}");
            }
        }
    }
}

/// It waits for something else, which the future may outlive.
#[test]
fn a_draining_pool_polls_while_a_job_waits_elsewhere() {
    let (pool, other) = (Pool::new(1), Pool::new(1));
    let ((go, goes), (wake, wakes)) = (mpsc::channel::<()>(), async_channel::bounded::<()>(1));
    let future = pool.spawn(async move { wakes.recv().await.is_err() });
    let elsewhere = other.submit(move || goes.recv().is_err());
    let (begun, begins) = mpsc::channel();
    pool.execute(move || {
        begun.send(()).unwrap();
        assert!(elsewhere.join().unwrap());
    });
    begins.recv().unwrap();
    pool.close();
    drop(wake);
    assert!(future.join().unwrap(), "it was woken, and polled");
    drop(go);
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 2);
}
