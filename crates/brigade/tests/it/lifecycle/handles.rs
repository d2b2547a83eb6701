//! `Handle`: a word that submits to its own pool or to none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;
use std::{hint, thread};

use crate::support::busy::occupy;
use crate::support::verbs::all_work_comes_back;
use brigade::{Handle, Pool, Reason, Rejected, Shutdown};
use brigade_testkit::{Gate, test};

/// A handle whose pool is gone.
fn stale() -> Handle {
    Pool::new(1).handle()
}

#[test]
fn the_handles_of_one_pool_are_equal_and_those_of_two_are_not() {
    let (a, b) = (Pool::new(1), Pool::new(1));
    assert_eq!(a.handle(), a.handle());
    assert_ne!(a.handle(), b.handle());
    let old = a.handle();
    drop(a);
    let next = Pool::new(1);
    assert_ne!(old, next.handle());
}

#[test]
fn the_work_of_each_verb_comes_back_from_a_closed_pool_and_from_an_ended_one() {
    let closed = Pool::new(1);
    closed.close();
    for pool in [closed.handle(), stale()] {
        all_work_comes_back(pool, Reason::Closed);
    }
}

/// Who sees a pool closed finds all parts of it closed, its timers among them.
#[test]
fn a_pool_that_is_seen_closed_accepts_nothing_by_any_verb() {
    let later = Duration::from_secs(60);
    for round in 0..2_000 {
        let pool = Pool::new(1);
        let (handle, closes) = (pool.handle(), Barrier::new(2));
        thread::scope(|s| {
            s.spawn(|| {
                closes.wait();
                pool.close();
            });
            closes.wait();
            while !handle.metrics().is_closed {
                hint::spin_loop();
            }
            let accepted = [
                handle.job().after(later).execute(|| ()).is_ok(),
                handle.job().every(later).execute(|| ()).is_ok(),
                handle.try_spawn(async {}).is_ok(),
                handle.try_execute(|| ()).is_ok(),
            ];
            assert_eq!(accepted, [false; 4], "round {round}");
        });
    }
}

#[test]
fn a_closure_that_came_back_can_be_submitted_again() {
    let (dead, pool) = (stale(), Pool::new(1));
    let runs = Arc::new(AtomicUsize::new(0));
    for _ in 0..1000 {
        let counted = Arc::clone(&runs);
        let job = move || _ = counted.fetch_add(1, Ordering::Relaxed);
        let job = dead.try_execute(job).map_err(Rejected::into_inner).unwrap_err();
        pool.execute(job);
    }
    pool.wait_idle();
    assert_eq!(runs.load(Ordering::Relaxed), 1000);
}

/// The registry slot of a pool that has ended may be reused while a late caller still holds the old
/// handle.
#[test]
fn late_callers_and_new_pools_do_not_meet() {
    let (handles, late) = mpsc::channel::<Handle>();
    let foreign = thread::spawn(move || {
        let (mut accepted, mut handles) = (0, Vec::new());
        for handle in late {
            handles.push(handle);
            for handle in handles.iter().rev().take(20).chain(handles.first()).copied() {
                let job = move || assert_eq!(Handle::current(), Some(handle));
                accepted += u64::from(handle.try_execute(job).is_ok());
            }
        }
        assert!(handles.pop().is_none_or(|last| handles.iter().all(|old| *old != last)));
        accepted
    });
    let (mut ran, mut panicked) = (0, 0);
    for _ in 0..500 {
        let pool = Pool::new(1);
        handles.send(pool.handle()).unwrap();
        pool.submit(|| ()).join().unwrap();
        pool.wait_idle();
        panicked += pool.metrics().panicked;
        ran += pool.shutdown(Shutdown::Drain).ran - 1;
    }
    drop(handles);
    assert_eq!(foreign.join().unwrap(), ran);
    assert_eq!(panicked, 0, "a job ran on another pool");
}

#[test]
fn a_handle_keeps_no_pool_alive() {
    let witness = Arc::new(());
    let held = Arc::clone(&witness);
    let pool = Pool::builder().threads(2).on_start(move |_| _ = &held).build().unwrap();
    let handles = [pool.handle(); 10];
    drop(pool);
    assert!(handles.iter().all(|handle| handle.metrics().is_closed));
    assert_eq!(Arc::strong_count(&witness), 1, "the pool's hooks are gone with it");
}

#[test]
fn a_handle_is_closed_from_the_moment_a_shutdown_begins() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let handle = pool.handle();
    occupy(&pool, &gate);
    let closing = thread::spawn(move || drop(pool));
    brigade_testkit::eventually("the pool closes", || handle.metrics().is_closed);
    assert!(handle.try_submit(|| ()).is_err());
    assert!(!closing.is_finished(), "a job is still running");
    gate.open();
    closing.join().unwrap();
    assert!(handle.metrics().is_closed);
}
