//! Cancelling a job without its handle, which may be waiting for it, or gone.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use crate::jobs::cancelled_flag::until_cancelled;
use crate::support::busy::{held, occupy};
use crate::support::crowd::for_both_queueings;
use crate::support::full::at_rest;
use crate::support::reports::{counts, is_cancelled};
use brigade::{
    Builder, CancelHandle, Cause, JoinError, JoinHandle, Pool, Shutdown, block_on, cancelled,
};
use brigade_testkit::{Drops, Gate, Latch, Seed, Token, eventually, spin_for, test};

/// A future that waits until the latch is open, or forever.
async fn holding(token: Token, latch: Latch) {
    let _token = token;
    latch.wait().await;
}

type Cancels = fn(&JoinHandle<()>) -> bool;

/// Cancels by either handle.
const WAYS: [(&str, Cancels); 2] = [
    ("a join handle", JoinHandle::cancel),
    ("a cancel handle", |job| job.cancel_handle().cancel()),
];

#[test((way, cancels) in WAYS, for_both_queueings)]
fn abort_drops_a_queued_closure_and_counts_it(builder: Builder, cancels: Cancels) {
    let (pool, gate, drops) =
        (builder.threads(1).build().unwrap(), Gate::closed(), Drops::default());
    occupy(&pool, &gate);
    let token = drops.token();
    let job = pool.submit(move || drop(token));
    let cancel = job.cancel_handle();
    assert!(!cancel.is_finished());
    assert!(cancels(&job));
    assert_eq!((drops.count(), pool.metrics().cancelled), (1, 1));
    assert!(cancel.is_finished() && job.is_finished());
    assert!(!cancels(&job) && !cancel.cancel(), "again, to no further effect");
    assert!(is_cancelled(job.join()));
    assert!(!cancel.cancel());
    gate.open();
    assert_eq!(at_rest(&pool), [2, 1, 0, 1, 0]);
    assert_eq!(counts(pool.shutdown(Shutdown::Drain)), (1, 1, 0));
}

#[test((way, cancels) in WAYS)]
fn pending_and_queued_futures_are_cancelled(cancels: Cancels) {
    let (pool, latch, drops, gate) =
        (Pool::new(1), Latch::default(), Drops::default(), Gate::closed());
    let waits = pool.spawn(holding(drops.token(), latch.clone()));
    eventually("it waits", || latch.waiting() == 1);
    occupy(&pool, &gate);
    let queued = pool.spawn(holding(drops.token(), latch.clone()));
    let jobs = [waits, queued];
    let handles = jobs.each_ref().map(JoinHandle::cancel_handle);
    assert!(jobs.iter().all(cancels));
    assert!(!jobs.iter().any(cancels), "again, to no further effect");
    gate.open();
    assert!(jobs.into_iter().all(|job| is_cancelled(job.join())));
    assert_eq!(drops.count(), 2);
    assert!(handles.iter().all(CancelHandle::is_finished));
    assert_eq!(latch.waiting(), 1, "the second was never polled");
    assert_eq!(at_rest(&pool), [3, 1, 0, 2, 0]);
}

#[test]
fn an_abort_wakes_a_join_and_an_awaiting_task() {
    let (pool, other, gate) = (Pool::new(1), Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let jobs = [(); 2].map(|()| pool.submit(|| ()));
    let cancels = jobs.each_ref().map(JoinHandle::cancel_handle);
    let [joined, awaited] = jobs;
    let joins = thread::spawn(move || is_cancelled(joined.join()));
    let awaits = other.spawn(async { is_cancelled(awaited.await) });
    assert!(cancels.iter().all(CancelHandle::cancel));
    assert!(joins.join().unwrap() && awaits.join().unwrap());
    gate.open();
}

#[test]
fn it_works_without_the_join_handle() {
    let (pool, latch, drops) = (Pool::new(2), Latch::default(), Drops::default());
    let future = pool.spawn(holding(drops.token(), latch.clone())).cancel_handle();
    eventually("it waits", || latch.waiting() == 1);
    let runs = until_cancelled(&pool, || ()).cancel_handle();
    let gate = Gate::closed();
    held(&pool, &gate);
    let token = drops.token();
    let queued = pool.submit(move || drop(token)).cancel_handle();
    assert!(queued.cancel());
    assert_eq!(drops.count(), 1);
    assert!(future.cancel());
    assert!(!runs.cancel());
    gate.open();
    eventually("both end", || runs.is_finished() && future.is_finished());
    assert_eq!(at_rest(&pool), [4, 2, 0, 2, 0]);
    assert_eq!(drops.count(), 2);
}

#[test]
fn one_of_many_concurrent_cancels_wins() {
    for round in 0..200 {
        let (pool, gate, start) = (Pool::new(1), Gate::closed(), Barrier::new(3));
        occupy(&pool, &gate);
        let job = if round % 2 == 0 { pool.submit(|| ()) } else { pool.spawn(pending()) };
        let cancel = job.cancel_handle();
        let by_handle = || job.cancel();
        let by_clone = || cancel.clone().cancel();
        let cancels: [&(dyn Fn() -> bool + Sync); 3] = [&by_handle, &by_handle, &by_clone];
        let cancelled = thread::scope(|s| {
            let threads = cancels.map(|cancel| {
                s.spawn(|| {
                    start.wait();
                    cancel()
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(cancelled.into_iter().filter(|&own| own).count(), 1, "round {round}");
        gate.open();
        assert!(is_cancelled(job.join()));
        assert_eq!(at_rest(&pool), [2, 1, 0, 1, 0]);
    }
}

#[test]
fn a_job_is_aborted_by_another_and_by_itself() {
    let pool = Pool::new(1);
    let parent = pool.submit(|| {
        let child = brigade::submit(|| unreachable!());
        let cancel = child.cancel_handle();
        cancel.cancel() && is_cancelled::<()>(child.join())
    });
    assert!(parent.join().unwrap());
    let (give, take) = mpsc::channel::<CancelHandle>();
    let own = pool.submit(move || {
        let cancel = take.recv().unwrap();
        let before = cancelled();
        (before, cancel.cancel(), cancelled())
    });
    give.send(own.cancel_handle()).unwrap();
    assert_eq!(own.join().unwrap(), (false, false, true));
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 0]);
}

#[test]
fn it_outlives_its_pool_and_keeps_nothing_alive() {
    let held = Arc::new(());
    let witness = held.clone();
    let pool = Pool::builder().threads(1).on_start(move |_| _ = &witness).build().unwrap();
    let handle = pool.handle();
    let ended = pool.submit(|| ()).cancel_handle();
    let waits = pool.spawn(pending::<()>()).cancel_handle();
    drop(pool);
    assert!(handle.metrics().is_closed);
    assert_eq!(Arc::strong_count(&held), 1, "the pool's hooks are gone with it");
    for cancel in [ended, waits] {
        assert!(cancel.is_finished());
        assert!(!cancel.cancel());
        assert!(format!("{cancel:?}").contains("true"));
    }
}

/// For every outcome of the job and every use of its handle.
#[test]
fn it_keeps_no_captures_and_no_outcome() {
    let witness = Arc::new(());
    let (pool, mut cancels) = (Pool::new(1), Vec::new());
    for is_future in [false, true] {
        let job = || {
            let held = witness.clone();
            if is_future { pool.spawn(async { held }) } else { pool.submit(|| held) }
        };
        let joined = job();
        cancels.push(joined.cancel_handle());
        assert_eq!(Arc::strong_count(&joined.join().unwrap()), 2);
        let dropped = job();
        cancels.push(dropped.cancel_handle());
        drop(dropped);
        pool.wait_idle();
        let untaken = job();
        cancels.push(untaken.cancel_handle());
        pool.wait_idle();
        drop(untaken);
        assert_eq!(Arc::strong_count(&witness), 1, "an outcome is left, future: {is_future}");
        let gate = Gate::closed();
        occupy(&pool, &gate);
        let cancelled = job();
        cancels.push(cancelled.cancel_handle());
        cancels.last().unwrap().cancel();
        gate.open();
        assert!(is_cancelled(cancelled.join()));
        assert_eq!(Arc::strong_count(&witness), 1, "captures are left, future: {is_future}");
    }
    assert!(cancels.iter().all(CancelHandle::is_finished));
}

/// What one round of a race did.
struct Round {
    aborted: bool,
    outcome: Result<(), JoinError>,
}

/// A job is aborted while it is joined, in one of several ways, and while the pool runs it.
fn race(pool: &Pool, job: JoinHandle<()>, seed: &mut Seed) -> Round {
    let cancel = job.cancel_handle();
    let (early, late) = (seed.micros(20), seed.micros(20));
    let cancels = thread::spawn(move || {
        spin_for(early);
        cancel.cancel()
    });
    spin_for(late);
    let outcome = match seed.below(4) {
        0 => pool.submit(move || job.join()).join().unwrap(),
        1 => block_on(job),
        2 => pool.spawn(job).join().unwrap(),
        _ => job.join(),
    };
    Round { aborted: cancels.join().unwrap(), outcome }
}

#[test(120, for_both_queueings)]
fn join_abort_and_run_race_to_one_outcome(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (witness, mut seed, mut cancelled) = (Arc::new(()), Seed::printed(), 0);
    for round in 0..1500 {
        let (ran, held, is_future) =
            (Arc::new(AtomicBool::new(false)), witness.clone(), round % 3 == 0);
        let runs = ran.clone();
        let work = move || {
            let _held = held;
            runs.store(true, Ordering::SeqCst);
        };
        let job = if is_future { pool.spawn(async { work() }) } else { pool.submit(work) };
        let Round { aborted, outcome } = race(&pool, job, &mut seed);
        let returned = match outcome {
            Ok(()) => true,
            Err(JoinError::Cancelled(Cause::Asked)) => false,
            Err(other) => unreachable!("{other}"),
        };
        cancelled += u64::from(!returned);
        assert_eq!(aborted, !returned, "round {round}");
        // A future that is aborted during its poll has run, and its result is dropped.
        let has_run = ran.load(Ordering::SeqCst);
        assert!(has_run == returned || is_future && has_run, "round {round}");
    }
    pool.wait_idle();
    assert_eq!(Arc::strong_count(&witness), 1, "captures are left");
    let metrics = pool.metrics();
    assert_eq!(metrics.cancelled, cancelled);
    assert_eq!(metrics.accepted, metrics.returned + metrics.cancelled);
    assert_eq!(metrics.queued + metrics.running, 0);
}
