//! Pools dropped in odd places, and handles joined after their pool is gone.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::busy::{occupy, open_once_closed};
use brigade::{JoinError, Pool, Shutdown};
use brigade_testkit::panics::{self, text};
use brigade_testkit::{Gate, Watchdog, eventually};

/// Where a worker finds the pool that it must drop.
type Slot = Arc<Mutex<Option<Pool>>>;

fn take(slot: &Slot) -> Pool {
    eventually("the pool is in its slot", || slot.lock().unwrap().is_some());
    slot.lock().unwrap().take().unwrap()
}

/// Drops a pool where its owner is dropped.
struct Owner {
    pool: Option<Pool>,
    dropped: mpsc::Sender<()>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.pool.take());
        let _ = self.dropped.send(());
    }
}

fn owner(pool: Pool) -> (Owner, Receiver<()>) {
    let (dropped, drops) = mpsc::channel();
    (Owner { pool: Some(pool), dropped }, drops)
}

const LONG: Duration = Duration::from_secs(10);

#[test]
fn a_pool_dropped_on_its_own_worker_returns_and_still_runs_what_it_accepted() {
    let _dog = Watchdog::start(20);
    for threads in [1, 2, 4] {
        for _ in 0..50 {
            let (slot, ran) = (Slot::default(), Arc::new(AtomicUsize::new(0)));
            let (inner, (dropped, drops)) = (Arc::clone(&slot), mpsc::channel());
            let pool = Pool::new(threads);
            let handle = pool.handle();
            pool.execute(move || {
                drop(take(&inner));
                dropped.send(()).unwrap();
            });
            for _ in 0..20 {
                let ran = Arc::clone(&ran);
                pool.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed));
            }
            *slot.lock().unwrap() = Some(pool);
            drops.recv_timeout(LONG).expect("the drop returns");
            assert!(handle.metrics().is_closed);
            eventually("the accepted jobs run", || ran.load(Ordering::Relaxed) == 20);
        }
    }
}

#[test]
fn shutdown_on_an_own_worker_returns() {
    let _dog = Watchdog::start(20);
    for how in [Shutdown::Drain, Shutdown::Discard] {
        for threads in [1, 2] {
            let slot = Slot::default();
            let (inner, (reported, reports)) = (Arc::clone(&slot), mpsc::channel());
            let pool = Pool::new(threads);
            pool.execute(move || reported.send(take(&inner).shutdown(how)).unwrap());
            let queued = pool.submit(|| ());
            *slot.lock().unwrap() = Some(pool);
            let report = reports.recv_timeout(LONG).expect("the shutdown returns");
            assert!(report.still_running >= 1, "at least the caller: {report:?}");
            assert!(matches!(queued.join(), Ok(()) | Err(JoinError::Cancelled)));
        }
    }
}

#[test]
fn a_pool_dropped_in_its_own_start_hook_returns() {
    let _dog = Watchdog::start(20);
    for _ in 0..20 {
        let slot = Slot::default();
        let (inner, (dropped, drops)) = (Arc::clone(&slot), mpsc::channel());
        let hook = move |index| {
            if index == 0 {
                drop(take(&inner));
                dropped.send(()).unwrap();
            }
        };
        let pool = Pool::builder().threads(2).on_start(hook).build().unwrap();
        let job = pool.submit(|| 42);
        *slot.lock().unwrap() = Some(pool);
        drops.recv_timeout(LONG).expect("the drop returns");
        assert_eq!(job.join().unwrap(), 42);
    }
}

#[test]
fn a_pool_dropped_in_the_stop_hook_of_another_returns() {
    let _dog = Watchdog::start(20);
    for _ in 0..20 {
        let inner = Pool::new(2);
        let job = inner.submit(|| 42);
        let inner = Mutex::new(Some(inner));
        let hook = move |_| drop(inner.lock().unwrap().take());
        drop(Pool::builder().threads(2).on_stop(hook).build().unwrap());
        assert!(job.is_finished());
    }
}

thread_local! {
    static LAST: Mutex<Vec<Owner>> = const { Mutex::new(Vec::new()) };
}

#[test]
fn a_pool_dropped_by_a_thread_local_destructor_returns() {
    let _dog = Watchdog::start(20);
    for _ in 0..50 {
        let pool = Pool::new(2);
        let job = pool.submit(|| 42);
        let (owner, drops) = owner(pool);
        thread::spawn(move || LAST.with(|last| last.lock().unwrap().push(owner))).join().unwrap();
        drops.recv_timeout(LONG).expect("the drop returns");
        assert_eq!(job.join().unwrap(), 42);
    }
}

#[test]
fn a_pool_dropped_by_a_thread_local_destructor_of_another_pools_worker_returns() {
    let _dog = Watchdog::start(20);
    for _ in 0..50 {
        let (outer, inner) = (Pool::new(1), Pool::new(2));
        let job = inner.submit(|| 42);
        let (owner, drops) = owner(inner);
        outer.execute(move || LAST.with(|last| last.lock().unwrap().push(owner)));
        drop(outer);
        drops.recv_timeout(LONG).expect("the drop returns");
        assert!(job.is_finished());
    }
}

#[test]
fn a_pool_dropped_while_unwinding_runs_its_jobs_and_panics_no_second_time() {
    let _dog = Watchdog::start(20);
    panics::silence_expected();
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
    let _dog = Watchdog::start(20);
    panics::silence_expected();
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
    let _dog = Watchdog::start(20);
    panics::silence_expected();
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
    let _dog = Watchdog::start(20);
    let pool = Pool::new(2);
    let handle = pool.handle();
    std::mem::forget(pool);
    assert!(!handle.metrics().is_closed);
    assert_eq!(handle.submit(|| 42).join().unwrap(), 42);
}
