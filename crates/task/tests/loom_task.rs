//! Models of the task cell; `ci/loom.sh` runs them.
//!
//! Jobs assert nothing: a panic there would be the job's result. Counters are outside of the model, so that counting orders
//! nothing.

#![cfg(brigade_loom)]
#![allow(clippy::disallowed_types, reason = "counters outside the model")]
#![forbid(unsafe_code)]

mod parking;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use brigade_sync::model::{check, turn};
use brigade_task::{Cause, Job, JoinError, JoinHandle, Outcome};
use loom::thread;
use parking::{ParkingWaker, run};

/// Compiles only if the atomics are loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// Counts what happened to one job.
#[derive(Default)]
struct Tally {
    /// Captures dropped.
    captures: AtomicUsize,
    /// Runs of the closure.
    runs: AtomicUsize,
    /// Results dropped.
    results: AtomicUsize,
}

impl Tally {
    fn seen(&self) -> (usize, usize, usize) {
        let get = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (get(&self.captures), get(&self.runs), get(&self.results))
    }
}

/// Counts its drop.
struct Counted(Arc<Tally>, fn(&Tally) -> &AtomicUsize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1(&self.0).fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes a job whose captures, runs and results are counted.
fn counted_job() -> (Arc<Tally>, Job, JoinHandle<Counted>) {
    let tally = Arc::new(Tally::default());
    let capture = Counted(tally.clone(), |tally| &tally.captures);
    let (job, handle) = Job::with_handle(move || {
        let capture = &capture; // all of it, so that it is dropped with the closure
        capture.0.runs.fetch_add(1, Ordering::Relaxed);
        Counted(capture.0.clone(), |tally| &tally.results)
    });
    (tally, job, handle)
}

fn poll<T>(handle: &mut JoinHandle<T>, waker: &Arc<ParkingWaker>) -> Poll<Result<T, JoinError>> {
    turn();
    let waker = Waker::from(waker.clone());
    Pin::new(handle).poll(&mut Context::from_waker(&waker))
}

/// Parks this thread until the job has ended, and takes the result.
fn join<T>(mut handle: JoinHandle<T>) -> Result<T, JoinError> {
    let waker = Arc::new(ParkingWaker::default());
    if handle.wake_when_finished(&waker.clone().into()) {
        waker.parker.park(None);
    }
    handle.join()
}

/// Caught: `abandon` clearing the bit whether or not the result has been written; `finish` without Release.
#[test]
fn a_job_beside_its_handles_drop_drops_all_once() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let runner = run(job);
        turn();
        drop(handle);
        assert_eq!(runner.join().unwrap(), Outcome::Returned);
        assert_eq!(tally.seen(), (1, 1, 1));
    });
}

/// Caught: `finish` without Release; `is_done` with Relaxed.
#[test]
fn a_seen_outcome_is_whole() {
    check(3, || {
        let (tally, job, mut handle) = counted_job();
        let runner = run(job);
        turn();
        let early = handle.try_join();
        if early.is_some() {
            assert_eq!(tally.seen(), (1, 1, 0), "the captures are gone, the result is here");
        }
        assert_eq!(runner.join().unwrap(), Outcome::Returned);
        let late = handle.try_join();
        assert_ne!(early.is_some(), late.is_some(), "there is one result");
        drop((early, late, handle));
        assert_eq!(tally.seen(), (1, 1, 1));
    });
}

/// Caught: `offer_waker` without Release; `finish` without Acquire.
#[test]
fn a_join_wakes_up_with_the_outcome() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let runner = run(job);
        turn();
        let outcome = join(handle);
        assert!(outcome.is_ok());
        assert_eq!(tally.seen(), (1, 1, 0));
        assert_eq!(runner.join().unwrap(), Outcome::Returned);
        drop(outcome);
        assert_eq!(tally.seen(), (1, 1, 1));
    });
}

/// Caught: `offer_waker` that does not look for `DONE` in the same step; `finish` without Acquire.
#[test]
fn a_pending_poll_is_woken() {
    check(3, || {
        let (tally, job, mut handle) = counted_job();
        let waker = Arc::new(ParkingWaker::default());
        let runner = run(job);
        let outcome = match poll(&mut handle, &waker) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => {
                waker.parker.park(None);
                let Poll::Ready(outcome) = poll(&mut handle, &waker) else { panic!("woken early") };
                outcome
            }
        };
        assert!(outcome.is_ok());
        assert_eq!(runner.join().unwrap(), Outcome::Returned);
        drop((outcome, handle));
        assert_eq!(Arc::strong_count(&waker), 1, "no waker is left");
        assert_eq!(tally.seen(), (1, 1, 1));
    });
}

/// Caught: `reclaim_slot` that does not look for `DONE` in the same step.
#[test]
fn the_waker_of_the_last_poll_is_woken() {
    check(3, || {
        let (_, job, mut handle) = counted_job();
        let (first, second) =
            (Arc::new(ParkingWaker::default()), Arc::new(ParkingWaker::default()));
        let runner = run(job);
        if poll(&mut handle, &first).is_pending() && poll(&mut handle, &second).is_pending() {
            second.parker.park(None);
            assert_eq!(first.wakes.load(Ordering::Relaxed), 0, "it was replaced");
            assert!(poll(&mut handle, &second).is_ready());
        }
        runner.join().unwrap();
        turn();
        drop(handle);
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1));
    });
}

/// Caught: `reclaim_slot` or `abandon` that does not look for `DONE` in the same step.
#[test]
fn a_handle_dropped_with_a_waker_leaves_nothing() {
    check(3, || {
        let (tally, job, mut handle) = counted_job();
        let waker = Arc::new(ParkingWaker::default());
        // Before the race: another model has that of the poll.
        assert!(poll(&mut handle, &waker).is_pending());
        let runner = run(job);
        turn();
        drop(handle);
        assert_eq!(runner.join().unwrap(), Outcome::Returned);
        assert!(waker.wakes.load(Ordering::Relaxed) <= 1);
        assert_eq!(Arc::strong_count(&waker), 1, "no waker is left");
        assert_eq!(tally.seen(), (1, 1, 1));
    });
}

/// Caught: `offer_waker` without Release; `finish` that does not wake.
#[test]
fn a_dropped_jobs_join_returns_cancelled() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let canceller = thread::spawn(move || {
            turn();
            job.cancel(Cause::Evicted)
        });
        turn();
        let Err(JoinError::Cancelled(Cause::Evicted)) = join(handle) else {
            panic!("it did not run")
        };
        assert_eq!(tally.seen(), (1, 0, 0), "the captures were dropped first");
        assert_eq!(canceller.join().unwrap(), Outcome::Cancelled(Cause::Evicted));
    });
}

/// Caught: `claim` by a load and an addition in two steps; `is_done` with Relaxed.
#[test]
fn a_job_runs_on_its_worker_or_its_joiner() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let runner = run(job);
        turn();
        let here = handle.settle_if_unclaimed(None);
        turn();
        let outcome = join(handle);
        assert!(outcome.is_ok());
        let there = runner.join().unwrap();
        match here {
            Some(outcome) => assert_eq!((outcome, there), (Outcome::Returned, Outcome::Stale)),
            None => assert_eq!(there, Outcome::Returned),
        }
        drop(outcome);
        assert_eq!(tally.seen(), (1, 1, 1));
    });
}

/// Caught: `claim` by a load and an addition in two steps; `is_done` with Relaxed.
#[test]
fn a_job_is_cancelled_or_run_by_its_joiner() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let canceller = thread::spawn(move || {
            turn();
            drop(job);
        });
        turn();
        let here = handle.settle_if_unclaimed(None);
        turn();
        let outcome = join(handle);
        assert_eq!(here.is_some(), outcome.is_ok());
        canceller.join().unwrap();
        let runs = usize::from(outcome.is_ok());
        drop(outcome);
        assert_eq!(tally.seen(), (1, runs, runs));
    });
}

/// Caught: `claim` by a load and an addition in two steps.
/// A job was cancelled, with this outcome, or its worker, which reports `there`, has run it.
fn assert_one_outcome(
    tally: &Tally,
    cancelled: Option<Outcome>,
    there: Outcome,
    outcome: Result<Counted, JoinError>,
) {
    match cancelled {
        Some(outcome) => {
            assert_eq!((outcome, there), (Outcome::Cancelled(Cause::Asked), Outcome::Stale))
        }
        None => assert_eq!(there, Outcome::Returned),
    }
    assert_eq!(outcome.is_ok(), cancelled.is_none());
    let runs = usize::from(outcome.is_ok());
    drop(outcome);
    assert_eq!(tally.seen(), (1, runs, runs));
}

#[test]
fn a_job_runs_or_its_joiner_cancels_it() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let runner = run(job);
        turn();
        let here = handle.settle_if_unclaimed(Some(Cause::Asked));
        turn();
        let outcome = join(handle);
        let there = runner.join().unwrap();
        assert_one_outcome(&tally, here, there, outcome);
    });
}

#[test]
fn a_job_runs_or_is_cancelled_from_elsewhere() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let canceller = handle.canceller().unwrap();
        let runner = run(job);
        let cancels = thread::spawn(move || {
            turn();
            canceller.drop_if_unclaimed(Cause::Asked)
        });
        turn();
        let outcome = join(handle);
        let (there, elsewhere) = (runner.join().unwrap(), cancels.join().unwrap());
        assert_one_outcome(&tally, elsewhere, there, outcome);
    });
}

/// Either entry runs the closure, beside the drop of the handle.
#[test]
fn one_of_two_jobs_runs_a_raised_closure() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let further = Job::raised(&handle, 2).unwrap();
        assert!(Job::raised(&handle, 2).is_none(), "there is one");
        let (first, second) = (run(job), run(further));
        turn();
        drop(handle);
        let mut outcomes = [first.join().unwrap(), second.join().unwrap()];
        outcomes.sort_by_key(|outcome| *outcome == Outcome::Stale);
        assert_eq!(outcomes, [Outcome::Returned, Outcome::Stale]);
        assert_eq!(tally.seen(), (1, 1, 1));
    });
}

/// Loom finds a cell that is freed twice, never, or before its last use.
#[test]
fn the_last_of_three_sides_frees_a_cell() {
    check(3, || {
        let (tally, job, handle) = counted_job();
        let canceller = handle.canceller().unwrap();
        let runner = run(job);
        let cancels = thread::spawn(move || {
            turn();
            _ = canceller.ask_to_stop(false, Cause::Asked);
        });
        turn();
        drop(handle);
        assert_eq!(runner.join().unwrap(), Outcome::Returned);
        cancels.join().unwrap();
        assert_eq!(tally.seen(), (1, 1, 1));
    });
}
