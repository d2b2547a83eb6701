//! `TaskSet::cancel_all` and the drop of a set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::reports::is_cancelled;
use brigade::{NewThread, Pool, Shutdown, TaskSet, cancelled};
use brigade_testkit::{Bomb, Drops, Gate, OnDrop, eventually, test};

#[test(by_id in [false, true])]
fn running_jobs_see_a_cancel_and_keep_outcomes(by_id: bool) {
    let (pool, (begun, begins)) = (Pool::new(2), mpsc::channel());
    let mut set = TaskSet::new(pool.handle());
    let ids = [false, true].map(|panics| {
        let begun = begun.clone();
        set.submit(move || {
            begun.send(()).unwrap();
            while !cancelled() {
                thread::yield_now();
            }
            assert!(!panics, "expected: cancelled");
            42
        })
    });
    begins.iter().take(2).for_each(drop);
    if by_id {
        assert!(!set.cancel(ids[1]), "it has started");
        assert!(set.join_next_with_id().is_some_and(|(id, end)| id == 1 && end.is_err()));
        assert_eq!(set.len(), 1, "the other still runs");
        assert!(!set.cancel(ids[0]));
    } else {
        set.cancel_all();
        set.wait_all();
        set.cancel_all();
    }
    let (returned, panicked): (Vec<_>, Vec<_>) = set.outcomes().partition(Result::is_ok);
    assert_eq!(returned.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [42]);
    assert_eq!(panicked.len(), usize::from(!by_id));
    assert!(panicked.into_iter().all(|outcome| outcome.unwrap_err().is_panic()));
    // The set continues, and jobs submitted from now on are not cancelled.
    set.submit(|| if cancelled() { 0 } else { 43 });
    assert_eq!(set.join_next().unwrap().unwrap(), 43);
}

#[test(discard in [false, true])]
fn panicking_captures_stop_nothing(discard: bool) {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let drops = Drops::default();
    let mut set = TaskSet::new(pool.handle()).limit(3);
    for _ in 0..10 {
        let held = (drops.token(), Bomb);
        set.submit(move || drop(held));
    }
    if discard {
        open_once_closed(&gate, pool.handle());
        pool.shutdown(Shutdown::Discard);
    } else {
        set.cancel_all();
        gate.open();
    }
    assert_eq!(drops.count(), 10);
    assert!(set.outcomes().all(is_cancelled));
}

/// The set is cancelled, spawned on and waited for by the drop of one of its own captures.
#[test]
fn the_drop_of_a_capture_may_call_the_set() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let mut set = TaskSet::new(pool.handle()).limit(2);
    for _ in 0..5 {
        let handle = pool.handle();
        let meddler = OnDrop(move || {
            let mut set = TaskSet::new(handle).limit(1);
            (0..3).for_each(|_| _ = set.submit(|| ()));
            set.cancel_all();
            assert_eq!(set.outcomes().count(), 3);
        });
        set.submit(move || drop(meddler));
    }
    set.cancel_all();
    assert!(set.outcomes().all(is_cancelled));
    gate.open();
}

/// The pool starts a thread for the second job, and the set is cancelled by the time that thread is there.
#[test]
fn a_job_cancelled_on_its_way_never_starts() {
    let (gate, (asked, asks)) = (Gate::closed(), mpsc::channel());
    let (inner, started) = (gate.clone(), AtomicUsize::new(0));
    let spawner = move |thread: NewThread| {
        if started.fetch_add(1, Ordering::SeqCst) > 0 {
            asked.send(()).unwrap();
            inner.wait();
        }
        thread.start()
    };
    let pool = Pool::builder().threads(1..=2).spawner(spawner).build().unwrap();
    eventually("the first thread is idle", || pool.metrics().idle_threads == 1);
    let (begin, begins) = mpsc::channel();
    let mut set = TaskSet::new(pool.handle()).limit(1);
    set.submit(move || begins.recv().unwrap());
    eventually("it runs", || pool.metrics().running == 1);
    set.submit(|| unreachable!("cancelled before it started"));
    begin.send(()).unwrap();
    asks.recv().unwrap();
    set.cancel_all();
    assert!(set.join_next().unwrap().is_ok());
    assert!(is_cancelled(set.join_next().unwrap()));
    gate.open();
    let report = pool.shutdown(Shutdown::Drain);
    assert_eq!((report.ran, report.discarded, report.still_running), (1, 1, 0));
}
