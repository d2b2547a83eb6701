//! Models of the list of completed jobs; `ci/loom.sh` runs them.
//!
//! Jobs assert nothing: a panic there would be the job's result.

#![cfg(brigade_loom)]
#![allow(clippy::disallowed_types, reason = "counters outside the model")]
#![forbid(unsafe_code)]

mod parking;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use brigade_sync::model::{check, turn};
use brigade_task::{Completions, Job, Outcome};
use parking::{ParkingWaker, run};

/// Compiles only if the atomics are loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

fn taken(set: &mut Completions) -> Vec<usize> {
    turn();
    if set.is_any() { set.take().collect() } else { Vec::new() }
}

/// Caught: a take that clears `is_any` after it has released the lock.
#[test]
fn an_end_beside_a_take_is_listed_once() {
    check(3, || {
        let mut set = Completions::new();
        let (first, first_handle) = set.job(1, || 1);
        let (second, second_handle) = set.job(2, || 2);
        let (runs_first, runs_second) = (run(first), run(second));
        let mut keys = taken(&mut set);
        runs_first.join().unwrap();
        runs_second.join().unwrap();
        keys.extend(taken(&mut set));
        keys.sort_unstable();
        assert_eq!(keys, [1, 2]);
        assert_eq!((first_handle.join().unwrap(), second_handle.join().unwrap()), (1, 2));
    });
}

/// Caught: a wait that counts the keys before it takes the lock; a push that leaves the waker.
#[test]
fn a_wait_ends_with_the_job() {
    check(3, || {
        let (mut set, waker) = (Completions::new(), Arc::new(ParkingWaker::default()));
        let (job, mut handle) = set.job(7, || 42);
        let runner = run(job);
        turn();
        if set.wait(1, waker.clone().into()) {
            waker.parker.park(None);
            assert!(set.stop_waiting().is_none());
        }
        assert_eq!(taken(&mut set), [7]);
        assert_eq!(handle.try_join().unwrap().unwrap(), 42);
        runner.join().unwrap();
        drop(set);
        assert_eq!(Arc::strong_count(&waker), 1, "no waker is left");
    });
}

/// Caught: a push that takes the waker of a wait for more.
#[test]
fn a_wait_for_two_is_woken_once_after_both() {
    check(3, || {
        let (mut set, waker) = (Completions::new(), Arc::new(ParkingWaker::default()));
        let (first, _first_handle) = set.job(1, || ());
        let (second, _second_handle) = set.job(2, || ());
        let (runs_first, runs_second) = (run(first), run(second));
        turn();
        if set.wait(2, waker.clone().into()) {
            waker.parker.park(None);
            assert_eq!(waker.wakes.load(Ordering::Relaxed), 1);
        }
        let mut keys = taken(&mut set);
        keys.sort_unstable();
        assert_eq!(keys, [1, 2]);
        runs_first.join().unwrap();
        runs_second.join().unwrap();
    });
}

/// Caught: a push that clears the keys when it ends the wait.
#[test]
fn a_late_push_takes_nothing_away() {
    check(3, || {
        let (mut set, waker) = (Completions::new(), Arc::new(ParkingWaker::default()));
        let (first, _first_handle) = set.job(1, || ());
        let (second, _second_handle) = set.job(2, || ());
        assert!(set.wait(1, waker.clone().into()));
        let (runs_first, runs_second) = (run(first), run(second));
        turn();
        drop(set.stop_waiting());
        let mut keys = taken(&mut set);
        runs_first.join().unwrap();
        runs_second.join().unwrap();
        keys.extend(taken(&mut set));
        keys.sort_unstable();
        assert_eq!(keys, [1, 2]);
    });
}

/// Caught: `claim_and_leave` that claims and leaves in two steps, that does not look for a claim, or that does not leave.
#[test]
fn a_job_is_listed_or_runs_on_its_sets_thread() {
    check(3, || {
        let mut set = Completions::new();
        let (job, mut handle) = set.job(7, || 42);
        let runner = run(job);
        turn();
        let here = handle.leave_and_settle(None);
        let there = runner.join().unwrap();
        match here {
            Some(outcome) => {
                assert_eq!((outcome, there), (Outcome::Returned, Outcome::Stale));
                assert_eq!(taken(&mut set), []);
            }
            None => {
                assert_eq!(there, Outcome::Returned);
                assert_eq!(taken(&mut set), [7]);
            }
        }
        assert_eq!(handle.try_join().unwrap().unwrap(), 42);
    });
}

/// Caught: `offer_slot` without Release, or that does not look for `DONE`; `finish` without Acquire.
#[test]
fn a_job_added_beside_its_end_is_listed_or_refused() {
    check(3, || {
        let mut set = Completions::new();
        let (job, mut handle) = Job::with_handle(|| 42);
        let runner = run(job);
        turn();
        let is_in = set.add(7, &mut handle);
        runner.join().unwrap();
        assert_eq!(taken(&mut set), if is_in { vec![7] } else { vec![] });
        assert_eq!(handle.try_join().unwrap().unwrap(), 42);
    });
}

/// Loom finds a cell that is used after it was freed.
#[test]
fn the_end_frees_a_cell_of_dropped_handle_and_set() {
    check(3, || {
        let set = Completions::new();
        let (job, handle) = set.job(7, || 42);
        let runner = run(job);
        turn();
        drop(handle);
        turn();
        drop(set);
        assert_eq!(runner.join().unwrap(), Outcome::Returned);
    });
}
