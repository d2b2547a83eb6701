//! Pools dropped in odd places, and handles joined after their pool is gone.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::support::busy::{let_go, occupy, open_once_closed};
use brigade::{Cause, JoinError, Pool, Shutdown};
use brigade_testkit::panics::text;
use brigade_testkit::{Gate, test};

/// By a foreign thread, and by a job of another pool.
#[test]
fn a_drop_while_unwinding_runs_the_jobs() {
    let outer = Pool::new(1);
    for round in 0..50 {
        let ran = Arc::new(AtomicUsize::new(0));
        let runs = Arc::clone(&ran);
        let unwinds = move || {
            let pool = Pool::new(2);
            for n in 0..50 {
                let ran = Arc::clone(&runs);
                pool.execute(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    assert!(n % 10 != 0, "expected: a job panics as well");
                });
            }
            panic!("expected: unwinding");
        };
        let payload = match round % 2 {
            0 => panic::catch_unwind(AssertUnwindSafe(unwinds)).unwrap_err(),
            _ => outer.submit(unwinds).join().unwrap_err().into_panic(),
        };
        assert_eq!(text(&*payload), Some("expected: unwinding"));
        assert_eq!(ran.load(Ordering::Relaxed), 50, "in a job: {}", round % 2 == 1);
    }
}

#[test]
fn handles_outlive_the_pool() {
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
    assert!(matches!(outcome, Some(Err(JoinError::Cancelled(Cause::Ended)))));
}

#[test]
fn a_detached_pools_threads_end_by_themselves() {
    let (stopped, stops) = mpsc::channel();
    let hook = move |_| stopped.send(()).unwrap();
    let pool = Pool::builder().threads(3).prestart(3).on_stop(hook).build().unwrap();
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let_go(pool);
    assert!(stops.try_recv().is_err(), "they are busy");
    gate.open();
    assert_eq!(stops.iter().take(3).count(), 3);
}

#[test]
fn a_forgotten_pool_goes_on_working() {
    let pool = Pool::new(2);
    let handle = pool.handle();
    std::mem::forget(pool);
    assert!(!handle.metrics().is_closed);
    assert_eq!(handle.submit(|| 42).join().unwrap(), 42);
}
