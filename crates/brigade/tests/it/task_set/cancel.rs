//! `TaskSet::cancel_all` and the drop of a set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::support::busy::{occupy, open_once_closed};
use brigade::{JoinError, NewThread, Pool, Shutdown, TaskSet, cancelled};
use brigade_testkit::{Gate, eventually, test};

fn is_cancelled<T>(outcome: Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::Cancelled))
}

#[test]
fn running_jobs_see_it_and_their_outcomes_are_their_own() {
    let (pool, (begun, begins)) = (Pool::new(2), mpsc::channel());
    let mut set = TaskSet::new(pool.handle());
    for panics in [false, true] {
        let begun = begun.clone();
        set.submit(move || {
            begun.send(()).unwrap();
            while !cancelled() {
                thread::yield_now();
            }
            assert!(!panics, "expected: cancelled");
            42
        });
    }
    begins.iter().take(2).for_each(drop);
    set.cancel_all();
    set.wait_all();
    set.cancel_all();
    let (returned, panicked): (Vec<_>, Vec<_>) = set.outcomes().partition(Result::is_ok);
    assert_eq!(returned.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [42]);
    assert!(matches!(panicked[..], [Err(JoinError::Panicked(_))]));
    // The set continues, and jobs submitted from now on are not cancelled.
    set.submit(|| if cancelled() { 0 } else { 43 });
    assert_eq!(set.join_next().unwrap().unwrap(), 43);
}

#[test]
fn captures_that_panic_in_their_drop_stop_nothing() {
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("expected: in a drop");
        }
    }
    for discard in [false, true] {
        let (pool, gate) = (Pool::new(1), Gate::closed());
        occupy(&pool, &gate);
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut set = TaskSet::new(pool.handle()).limit(3);
        for _ in 0..10 {
            let bomb = Bomb(dropped.clone());
            set.submit(move || drop(bomb));
        }
        if discard {
            open_once_closed(&gate, pool.handle());
            pool.shutdown(Shutdown::Discard);
        } else {
            set.cancel_all();
            gate.open();
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 10);
        assert!(set.outcomes().all(is_cancelled));
    }
}

/// The set is cancelled, spawned on and waited for by the drop of one of its own captures.
#[test]
fn the_drop_of_a_capture_may_call_the_set() {
    struct Meddler(brigade::Handle);
    impl Drop for Meddler {
        fn drop(&mut self) {
            let mut set = TaskSet::new(self.0).limit(1);
            (0..3).for_each(|_| _ = set.submit(|| ()));
            set.cancel_all();
            assert_eq!(set.outcomes().count(), 3);
        }
    }
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let mut set = TaskSet::new(pool.handle()).limit(2);
    for _ in 0..5 {
        let meddler = Meddler(pool.handle());
        set.submit(move || drop(meddler));
    }
    set.cancel_all();
    assert!(set.outcomes().all(is_cancelled));
    gate.open();
}

/// The pool starts a thread for the second job, and the set is cancelled by the time that thread is there.
#[test]
fn a_job_cancelled_on_its_way_to_the_pool_never_starts_and_is_counted_once() {
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
