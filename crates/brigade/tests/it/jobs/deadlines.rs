//! A job with a deadline runs if it starts before that, and is cancelled otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;
use crate::support::full::{at_rest, busy, fill, full};
use brigade::{Builder, Cause, Handle, JoinError, Pool, Reason, WhenFull};
use brigade_testkit::{Gate, OnDrop, eventually, test};

fn far() -> Instant {
    Instant::now() + Duration::from_secs(1 << 30)
}

fn past(deadline: Instant) {
    eventually("the deadline has passed", || Instant::now() >= deadline);
}

#[test(for_both_queueings)]
fn a_job_runs_only_before_its_deadline(builder: Builder) {
    let pool = builder.threads(1).build().unwrap();
    assert_eq!(pool.job().deadline(far()).submit(|| 42).unwrap().join().unwrap(), 42);
    let gone = pool.job().deadline(Instant::now()).submit(|| unreachable!()).unwrap();
    assert!(matches!(gone.join(), Err(JoinError::Cancelled(Cause::Deadline))));
    pool.job().deadline(Instant::now()).execute(|| unreachable!()).unwrap();
    pool.handle().job().deadline(far()).execute(|| ()).unwrap();
    assert_eq!(at_rest(&pool), [4, 2, 0, 2, 0]);
}

#[test(for_both_queueings)]
fn a_deadline_cancels_a_queued_job(builder: Builder) {
    let (pool, gate) = (builder.threads(1).build().unwrap(), Gate::closed());
    occupy(&pool, &gate);
    let soon = Instant::now() + Duration::from_millis(5);
    let (token, later) = (Arc::new(()), pool.job().deadline(far()).submit(|| 42).unwrap());
    let captured = token.clone();
    let handle = pool.job().deadline(soon).submit(move || drop(captured)).unwrap();
    past(soon);
    assert!(!handle.is_finished(), "its turn has not come");
    gate.open();
    assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Deadline))));
    assert_eq!(Arc::strong_count(&token), 1);
    assert_eq!(later.join().unwrap(), 42);
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 0]);
}

#[test]
fn a_started_job_ignores_its_deadline() {
    let pool = Pool::new(1);
    let soon = Instant::now() + Duration::from_millis(100);
    let outlives = pool.job().deadline(soon).submit(move || past(soon)).unwrap();
    outlives.join().unwrap();
    assert!(Instant::now() >= soon);
}

#[test]
fn a_join_does_not_run_a_late_job_either() {
    let pool = Pool::new(1);
    let parent = pool.submit(|| {
        let here = Handle::current().unwrap();
        let late = here.job().deadline(Instant::now()).submit(|| unreachable!()).unwrap();
        let in_time = here.job().deadline(far()).submit(|| 42).unwrap();
        (late.join().is_err(), in_time.join().unwrap())
    });
    assert_eq!(parent.join().unwrap(), (true, 42));
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 0]);
}

#[test(for_both_queueings)]
fn a_late_job_counts_as_queued_until_taken(builder: Builder) {
    let (pool, gate) = busy(builder, 2, WhenFull::Reject);
    pool.job().deadline(Instant::now()).execute(|| unreachable!()).unwrap();
    assert_eq!(fill(&pool), 1);
    let full = pool.job().deadline(far()).execute(|| unreachable!()).unwrap_err();
    assert_eq!(full.reason(), Reason::Full);
    gate.open();
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 0]);
}

#[test(for_both_queueings)]
fn a_late_job_makes_room_before_its_captures_drop(builder: Builder) {
    let (pool, gate) = busy(builder, 1, WhenFull::Reject);
    let ran = Arc::new(AtomicUsize::new(0));
    let (handle, runs) = (pool.handle(), ran.clone());
    let successor = OnDrop(move || {
        let runs = runs.clone();
        handle.execute(move || _ = runs.fetch_add(1, Ordering::Relaxed));
    });
    pool.job().deadline(Instant::now()).execute(move || drop(successor)).unwrap();
    gate.open();
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 0]);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[test(policy in [WhenFull::Block, WhenFull::BlockFor(Duration::MAX)], for_both_queueings)]
fn a_submission_waits_for_room_to_its_deadline(builder: Builder, policy: WhenFull) {
    let (pool, gate) = full(builder, 1, policy);
    let soon = Instant::now() + Duration::from_millis(5);
    let waited = pool.job().deadline(soon).execute(|| unreachable!()).unwrap_err();
    assert_eq!(waited.reason(), Reason::Full);
    assert!(Instant::now() >= soon);
    gate.open();
    assert_eq!(at_rest(&pool), [2, 2, 0, 0, 0]);
}

#[test(for_both_queueings)]
fn a_submitter_cancels_a_late_job(builder: Builder) {
    let (pool, gate) = full(builder, 1, WhenFull::RunInCaller);
    let late = pool.job().deadline(Instant::now()).submit(|| unreachable!()).unwrap();
    assert!(matches!(late.join(), Err(JoinError::Cancelled(Cause::Deadline))));
    assert_eq!(pool.job().deadline(far()).submit(|| 42).unwrap().join().unwrap(), 42);
    gate.open();
    assert_eq!(at_rest(&pool), [4, 3, 0, 1, 0], "and not evicted");
}
