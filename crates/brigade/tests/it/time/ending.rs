//! Closures that run at a time, if their pool ends before that.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Context;
use std::time::{Duration, Instant};

use crate::support::busy::open_once_closed;
use brigade::time::sleep;
use brigade::{Missed, Pool, Shutdown, Timer};
use brigade_testkit::{Drops, Gate, Seed, eventually, on_wake, spin_for, test};
const SOON: Duration = Duration::from_millis(1);

/// It was accepted when it became due.
#[test]
fn a_tick_that_is_queued_runs_in_a_drain_and_is_dropped_by_a_discard() {
    for (how, expected) in [(Shutdown::Drain, 1), (Shutdown::Discard, 0)] {
        let (pool, gate) = (Pool::new(2), Gate::closed());
        let (ran, drops) = (Arc::new(AtomicUsize::new(0)), Drops::default());
        let (begun, begins) = mpsc::channel();
        let held = gate.clone();
        pool.execute(move || held.wait());
        let due = Instant::now() + SOON * 5;
        let held = gate.clone();
        let first = pool
            .job()
            .at(due)
            .execute(move || {
                begun.send(()).unwrap();
                held.wait();
            })
            .unwrap();
        let (token, counted) = (drops.token(), ran.clone());
        let count = move || {
            let _ = &token;
            counted.fetch_add(1, Ordering::SeqCst);
        };
        let queued = pool.job().at(due).execute(count).unwrap();
        begins.recv().unwrap();
        eventually("it is queued", || pool.metrics().queued == 1);
        open_once_closed(&gate, pool.handle());
        pool.shutdown(how);
        assert_eq!(ran.load(Ordering::SeqCst), expected, "{how:?}");
        assert_eq!((drops.count(), queued.is_over(), first.is_over()), (1, true, true));
    }
}

/// How a schedule ends, itself or with its pool.
const ENDS: [(&str, fn(&Pool, &Timer)); 4] = [
    ("cancel", |_, timer| assert!(timer.cancel() && !timer.cancel())),
    ("close", |pool, _| pool.close()),
    ("finish", |pool, _| _ = pool.shutdown(Shutdown::Finish.timeout(Duration::ZERO))),
    ("discard", |pool, _| _ = pool.shutdown(Shutdown::Discard.timeout(Duration::ZERO))),
];
#[test]
fn a_tick_that_runs_as_its_schedule_ends_is_the_last_and_captures_are_dropped_after_it() {
    for (end, ends) in ENDS {
        for missed in [Missed::Skip, Missed::Delay, Missed::Burst] {
            let (pool, gate, drops) = (Pool::new(2), Gate::closed(), Drops::default());
            let ((begun, begins), token, held) = (mpsc::channel(), drops.token(), gate.clone());
            let tick = move || {
                let _ = &token;
                begun.send(()).unwrap();
                held.wait();
            };
            let timer = pool.job().every(SOON).missed(missed).execute(tick).unwrap();
            begins.recv().unwrap();
            ends(&pool, &timer);
            assert_eq!((drops.count(), timer.is_over()), (0, false), "{end}, {missed:?}");
            gate.open();
            eventually("it is over", || timer.is_over());
            assert_eq!((drops.count(), timer.ticks()), (1, 1), "{end}, {missed:?}");
            assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1, "{end}, {missed:?}");
            assert!(begins.recv().is_err(), "{end}, {missed:?}");
        }
    }
}
#[test]
fn a_tick_may_drop_its_own_pool() {
    let (pool, drops) = (Pool::new(2), Drops::default());
    let (handle, token) = (pool.handle(), drops.token());
    let (place, own) = mpsc::channel();
    let timer = handle
        .job()
        .every(SOON)
        .missed(Missed::Burst)
        .execute(move || {
            let _ = &token;
            drop(own.recv());
        })
        .unwrap();
    place.send(pool).unwrap();
    eventually("it is over", || timer.is_over());
    assert!(handle.metrics().is_closed);
    assert_eq!((drops.count(), timer.ticks()), (1, 1));
}

/// Its waker is called by the worker that slept until then, which may be told just now that the pool has ended.
#[test(120)]
fn a_job_accepted_when_a_timer_fires_while_the_pool_ends_is_run() {
    const DELAY: Duration = Duration::from_micros(150);
    let mut seed = Seed::printed();
    for _ in 0..500 {
        let (pool, ran, accepted) =
            (Pool::new(1), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (handle, runs, accepts) = (pool.handle(), ran.clone(), accepted.clone());
        let waker = on_wake(move || {
            let runs = runs.clone();
            if handle.try_execute(move || _ = runs.fetch_add(1, Ordering::SeqCst)).is_ok() {
                accepts.fetch_add(1, Ordering::SeqCst);
            }
        });
        let sleeps = pool.submit(move || {
            let mut sleeps = Box::pin(sleep(DELAY));
            // Ready at once if the thread was stopped for that long: then nothing is woken.
            let _ = sleeps.as_mut().poll(&mut Context::from_waker(&waker));
            sleeps
        });
        let sleeps = sleeps.join().unwrap();
        spin_for(seed.micros(200));
        drop(pool);
        assert_eq!(ran.load(Ordering::SeqCst), accepted.load(Ordering::SeqCst));
        drop(sleeps);
    }
}
