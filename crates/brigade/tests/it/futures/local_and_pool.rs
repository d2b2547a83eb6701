//! Pools with local futures: which workers stay, run and wait.

use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use crate::futures::local::{Here, local_on};
use brigade::{Pool, Shutdown, spawn_local, yield_now};
use brigade_testkit::{Drops, Gate, Latch, Meeting, eventually, spin_for, stays, test};

/// A worker with a local future stays, and leaves when that has ended.
#[test]
fn a_local_future_keeps_its_idle_worker() {
    let builder = Pool::builder().threads(0..=2).keep_alive(Duration::from_millis(1));
    let (pool, latch, drops) = (builder.build().unwrap(), Latch::default(), Drops::default());
    let (job, _) = local_on(&pool, &latch, &drops);
    eventually("it waits", || latch.waiting() == 1);
    // Another one starts and ends.
    let meeting = Meeting::of(2);
    let jobs = [(); 2].map(|()| pool.submit(meeting.job()));
    assert_eq!(jobs.map(|job| job.join().unwrap()), [true; 2]);
    eventually("one is left", || pool.metrics().threads == 1);
    stays("it is left", || pool.metrics().threads == 1);
    latch.open();
    assert_eq!(job.join().unwrap(), 42);
    eventually("it leaves", || pool.metrics().threads == 0);
}

#[test]
fn a_smaller_pool_keeps_a_local_futures_worker() {
    let (pool, latch, drops) = (Pool::new(3), Latch::default(), Drops::default());
    let jobs = [(); 20].map(|()| local_on(&pool, &latch, &drops).0);
    eventually("all wait", || latch.waiting() == 20);
    pool.resize(1).unwrap();
    pool.wait_idle();
    latch.open();
    for job in jobs {
        assert_eq!(job.join().unwrap(), 42);
    }
    eventually("the others leave", || {
        pool.execute(|| ());
        pool.metrics().threads == 1
    });
}

/// Neither starves the other: a local future that yields forever, and jobs from outside and inside.
#[test]
fn an_endless_local_yield_alternates_with_jobs() {
    let (pool, stop) = (Pool::new(1), Arc::new(AtomicBool::new(false)));
    let (polls, stops) = (Arc::<AtomicUsize>::default(), stop.clone());
    let counts = polls.clone();
    let job = pool.submit(move || {
        let rc = Rc::new(());
        spawn_local(async move {
            while !stops.load(Ordering::SeqCst) {
                counts.fetch_add(1, Ordering::SeqCst);
                yield_now().await;
            }
            drop(rc);
        })
    });
    let job = job.join().unwrap();
    for _ in 0..1000 {
        pool.submit(|| ()).join().unwrap();
    }
    // And the other way round: jobs that submit each other on the same worker.
    fn again(stop: Arc<AtomicBool>) {
        if !stop.load(Ordering::SeqCst) {
            let _ = brigade::try_execute(move || again(stop));
        }
    }
    let inner = stop.clone();
    pool.execute(move || again(inner));
    let before = polls.load(Ordering::SeqCst);
    eventually("it goes on", || polls.load(Ordering::SeqCst) > before + 100);
    stop.store(true, Ordering::SeqCst);
    job.join().unwrap();
}

#[test]
fn wait_idle_waits_only_for_woken_local_futures() {
    let (pool, drops) = (Pool::new(2), Drops::default());
    for round in 1..200 {
        let (latch, gate) = (Latch::default(), Gate::closed());
        let (inner, (begun, begins)) = (gate.clone(), mpsc::channel());
        let (waits, token) = (latch.wait(), drops.clone());
        let job = pool.submit(move || {
            let here = Here::new(&token);
            begun.send(()).unwrap();
            inner.wait();
            spawn_local(async move {
                drop(here);
                waits.await;
            })
        });
        begins.recv().unwrap();
        let opener = thread::spawn(move || gate.open());
        pool.wait_idle();
        assert_eq!(drops.count(), round, "the child was polled");
        latch.open();
        job.join().unwrap().join().unwrap();
        opener.join().unwrap();
    }
}

#[test]
fn wait_idle_waits_for_a_local_woken_while_busy() {
    for _ in 0..5 {
        let (pool, latch, drops) = (Pool::new(2), Latch::default(), Drops::default());
        let (local, its_thread) = local_on(&pool, &latch, &drops);
        eventually("it waits", || latch.waiting() == 1);
        let (held, gate) = (Gate::closed(), Gate::closed());
        // One job on each worker.
        let jobs = [(); 2].map(|()| {
            let (both, gate) = (held.clone(), gate.clone());
            let (began, begins) = mpsc::channel();
            let job = pool.submit(move || {
                began.send(()).unwrap();
                both.wait();
                if thread::current().id() == its_thread {
                    gate.wait();
                }
            });
            begins.recv().unwrap();
            job
        });
        held.open();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| pool.wait_idle() && local.is_finished());
            latch.open();
            assert!(!pool.wait_idle_timeout(Duration::from_millis(1)));
            gate.open();
            assert!(waiter.join().unwrap());
        });
        jobs.into_iter().for_each(|job| job.join().unwrap());
        assert_eq!(local.join().unwrap(), 42);
    }
}

#[test]
fn a_local_future_may_be_large_and_endless() {
    let pool = Pool::new(1);
    let (polled, polls) = mpsc::channel();
    pool.execute(move || {
        let (large, rc) = ([1_u8; 10_000], Rc::new(()));
        drop(spawn_local(async move {
            polled.send(large.iter().map(|&n| u32::from(n)).sum::<u32>()).unwrap();
            pending::<()>().await;
            drop((rc, large));
        }));
        drop(spawn_local(poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        })));
    });
    assert_eq!(polls.recv(), Ok(10_000));
    assert_eq!(pool.shutdown(Shutdown::Discard).discarded, 2);
}

/// A worker polls its local futures before it takes what lies on a queue, so another must come for that.
#[test]
fn a_yielding_future_leaves_a_blocked_worker() {
    let pool = Pool::builder().threads(2).prestart(2).build().unwrap();
    for _ in 0..20 {
        eventually("both sleep", || pool.metrics().idle_threads == 2);
        let (goes_on, has_gone_on) = mpsc::channel();
        let yields = pool.spawn(async move {
            // A long job, during which no other worker looks for work.
            spin_for(Duration::from_millis(5));
            drop(spawn_local(async move { has_gone_on.recv().unwrap() }));
            yield_now().await;
            goes_on.send(()).unwrap();
        });
        yields.join().unwrap();
    }
}
