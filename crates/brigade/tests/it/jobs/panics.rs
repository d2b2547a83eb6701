//! A panic in a job, or in dropping what a job held, affects that job alone.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::busy::occupy;
use crate::support::roll_call::{on_every_worker, thread_ids};
use brigade::{JoinError, Pool, Shutdown};
use brigade_testkit::panics::text;
use brigade_testkit::{Gate, eventually, test};

thread_local! {
    /// What a job left on its worker.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// A payload of no known type.
struct Custom(usize);

/// A payload whose own drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("expected: a payload went off");
    }
}

/// Counts its drops, and panics in each.
struct Volatile(Arc<AtomicUsize>);

impl Drop for Volatile {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("expected: dropping this panics");
    }
}

fn go_wrong(n: usize) {
    match n % 4 {
        0 => panic!("expected"),
        1 => panic!("expected: {n}"),
        2 => panic::panic_any(Custom(n)),
        _ => panic::panic_any(Bomb),
    }
}

#[track_caller]
fn assert_is_payload_of(n: usize, payload: Box<dyn Any + Send>) {
    match n % 4 {
        0 => assert_eq!(text(&*payload), Some("expected")),
        1 => assert_eq!(text(&*payload), Some(&*format!("expected: {n}"))),
        2 => assert_eq!(payload.downcast_ref::<Custom>().map(|custom| custom.0), Some(n)),
        _ => std::mem::forget(payload.downcast::<Bomb>().expect("a bomb")),
    }
}

#[test]
fn ten_thousand_panics_reach_their_handles_and_cost_no_thread() {
    let pool = Pool::new(4);
    let before = thread_ids(&pool);
    on_every_worker(&pool, || LEFT.set(7));
    let jobs: Vec<_> = (0..10_000).map(|n| pool.submit(move || go_wrong(n))).collect();
    for (n, job) in jobs.into_iter().enumerate() {
        match job.join() {
            Err(JoinError::Panicked(panic)) => assert_is_payload_of(n, panic.into_payload()),
            Err(other) => panic!("job {n}: {other}"),
            Ok(()) => panic!("job {n} returned"),
        }
    }
    pool.wait_idle();
    let sums = pool.metrics();
    assert_eq!((sums.accepted, sums.returned, sums.panicked), (10_008, 8, 10_000));
    assert_eq!(sums.workers.iter().map(|worker| worker.panics).sum::<u64>(), 10_000);
    assert_eq!(on_every_worker(&pool, || LEFT.get()), [7; 4], "thread-locals are kept");
    assert_eq!(thread_ids(&pool), before, "threads are kept");
}

#[test]
fn panics_of_detached_jobs_are_counted_and_end_no_thread() {
    let pool = Pool::new(2);
    let before = thread_ids(&pool);
    for n in 0..2000 {
        pool.execute(move || go_wrong(n));
        drop(pool.submit(move || go_wrong(n)));
    }
    pool.wait_idle();
    assert_eq!(pool.metrics().panicked, 4000);
    assert_eq!(thread_ids(&pool), before, "threads are kept");
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 4004);
}

#[test]
fn a_result_whose_drop_panics_is_dropped_once_when_its_handle_went_first() {
    for threads in [1, 2, 8] {
        let (pool, gate, drops) =
            (Pool::new(threads), Gate::closed(), Arc::<AtomicUsize>::default());
        let before = thread_ids(&pool);
        occupy(&pool, &gate);
        for _ in 0..50 {
            let drops = Arc::clone(&drops);
            drop(pool.submit(move || Volatile(drops)));
        }
        gate.open();
        pool.wait_idle();
        assert_eq!(drops.load(Ordering::Relaxed), 50);
        let sums = pool.metrics();
        assert_eq!(sums.returned + sums.panicked, sums.accepted);
        assert_eq!(thread_ids(&pool), before, "threads are kept");
    }
}

#[test]
fn a_result_whose_drop_panics_is_dropped_once_when_its_handle_goes_last() {
    for threads in [1, 2, 8] {
        let (pool, drops) = (Pool::new(threads), Arc::<AtomicUsize>::default());
        for round in 1..=50 {
            let value = Arc::clone(&drops);
            let job = pool.submit(move || Volatile(value));
            eventually("the job finishes", || job.is_finished());
            let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(job)));
            assert_eq!(drops.load(Ordering::Relaxed), round);
            assert!(dropped.is_ok(), "dropping a handle detaches, whatever the result is");
        }
        pool.wait_idle();
        assert_eq!(pool.metrics().returned, 50);
    }
}

#[test]
fn a_capture_whose_drop_panics_is_the_panic_of_its_job() {
    let (pool, drops) = (Pool::new(2), Arc::<AtomicUsize>::default());
    let before = thread_ids(&pool);
    for round in 1..=100 {
        let capture = Volatile(Arc::clone(&drops));
        let job = pool.submit(move || {
            let _capture = &capture;
            round
        });
        assert!(matches!(job.join(), Err(JoinError::Panicked(_))), "round {round}");
        let capture = Volatile(Arc::clone(&drops));
        pool.execute(move || _ = &capture);
    }
    pool.wait_idle();
    assert_eq!(drops.load(Ordering::Relaxed), 200);
    assert_eq!(pool.metrics().panicked, 200);
    assert_eq!(thread_ids(&pool), before, "threads are kept");
}

#[test]
fn a_panic_in_a_job_that_its_joiner_runs_inline_does_not_unwind_the_joiner() {
    let pool = Pool::new(1);
    for n in 0..400 {
        let parent = pool.submit(move || {
            let child = brigade::submit(move || go_wrong(n));
            match child.join() {
                Err(JoinError::Panicked(panic)) => assert_is_payload_of(n, panic.into_payload()),
                _ => panic!("the child did not panic"),
            }
            n
        });
        assert_eq!(parent.join().unwrap(), n);
    }
    pool.wait_idle();
    assert_eq!((pool.metrics().returned, pool.metrics().panicked), (400, 400));
}

#[test]
fn a_job_may_resume_the_panic_of_another() {
    let pool = Pool::new(2);
    let parent = pool.submit(|| match brigade::submit(|| go_wrong(2)).join() {
        Err(JoinError::Panicked(panic)) => panic.resume(),
        _ => unreachable!("the child panics"),
    });
    match parent.join() {
        Err(JoinError::Panicked(panic)) => assert_is_payload_of(2, panic.into_payload()),
        _ => panic!("the parent did not panic"),
    }
}
