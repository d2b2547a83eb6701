//! Pools dropped in odd places, and handles joined after their pool is gone.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::busy::{occupy, open_once_closed};
use brigade::{JoinError, Pool, Shutdown};
use brigade_testkit::panics::text;
use brigade_testkit::{Gate, test};

#[test]
fn a_pool_dropped_while_unwinding_runs_its_jobs_and_panics_no_second_time() {
    for _ in 0..50 {
        let ran = Arc::new(AtomicUsize::new(0));
        let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
            let pool = Pool::new(2);
            for n in 0..50 {
                let ran = Arc::clone(&ran);
                pool.execute(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    assert!(n % 10 != 0, "expected: a job panics as well");
                });
            }
            panic!("expected: unwinding");
        }));
        assert_eq!(text(&*unwound.unwrap_err()), Some("expected: unwinding"));
        assert_eq!(ran.load(Ordering::Relaxed), 50);
    }
}

#[test]
fn a_job_that_unwinds_through_a_pool_of_its_own_ends_with_its_own_panic() {
    let outer = Pool::new(1);
    let job = outer.submit(|| {
        let inner = Pool::new(1);
        inner.execute(|| panic!("expected: inner"));
        panic!("expected: outer");
    });
    match job.join() {
        Err(JoinError::Panicked(panic)) => assert_eq!(panic.message(), Some("expected: outer")),
        other => panic!("the job did not panic: {other:?}"),
    }
}

#[test]
fn handles_give_their_outcomes_after_the_pool_is_gone() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let returned = pool.submit(|| 42);
    let panicked = pool.submit(|| panic!("expected: later"));
    pool.wait_idle();
    occupy(&pool, &gate);
    let mut cancelled = pool.submit(|| 42);
    open_once_closed(&gate, pool.handle());
    pool.shutdown(Shutdown::Discard);
    assert_eq!(returned.join().unwrap(), 42);
    let Err(JoinError::Panicked(panic)) = panicked.join() else { panic!("it panicked") };
    assert_eq!(panic.message(), Some("expected: later"));
    assert!(cancelled.is_finished());
    let outcome = cancelled.join_timeout(Duration::ZERO);
    assert!(matches!(outcome, Some(Err(JoinError::Cancelled))));
}

#[test]
fn a_forgotten_pool_goes_on_working() {
    let pool = Pool::new(2);
    let handle = pool.handle();
    std::mem::forget(pool);
    assert!(!handle.metrics().is_closed);
    assert_eq!(handle.submit(|| 42).join().unwrap(), 42);
}
