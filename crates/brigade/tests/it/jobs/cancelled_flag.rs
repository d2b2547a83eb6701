//! How a running job detects that it is cancelled: its own flag, and the end of its pool.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::support::busy::open_once_closed;
use crate::support::policy::queue_kinds;
use brigade::{JoinHandle, Pool, Shutdown, cancelled};
use brigade_testkit::{Gate, OnDrop, test};

/// A job that runs until it is cancelled and then does `and_then`; it has started.
pub(super) fn until_cancelled<T: Send + 'static>(
    pool: &Pool,
    and_then: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let (begun, begins) = mpsc::channel();
    let job = pool.submit(move || {
        begun.send(cancelled()).unwrap();
        wait_until_cancelled();
        and_then()
    });
    assert!(!begins.recv().unwrap(), "it has not been cancelled yet");
    job
}

fn wait_until_cancelled() {
    while !cancelled() {
        thread::yield_now();
    }
}

#[test(threads in [1, 2], (kind, pool) in queue_kinds(threads))]
fn a_running_cancelled_job_has_its_own_outcome(pool: Pool) {
    let job = until_cancelled(&pool, || 42);
    let cancel = job.cancel_handle();
    assert!(!cancel.cancel(), "it has started");
    assert!(!job.cancel(), "as before");
    assert_eq!(job.join().unwrap(), 42);
    assert!(cancel.is_finished() && !cancel.cancel());
    pool.wait_idle();
    assert_eq!((pool.metrics().returned, pool.metrics().cancelled), (1, 0));
}

#[test(panics in [false, true])]
fn the_threads_next_job_is_not_cancelled(panics: bool) {
    let (pool, (sender, receiver)) = (Pool::new(1), mpsc::channel());
    let job = until_cancelled(&pool, move || assert!(!panics, "expected: cancelled"));
    job.cancel();
    let message = job.join().err().and_then(|error| error.panic_message().map(str::to_owned));
    assert_eq!(message.as_deref(), panics.then_some("expected: cancelled"));
    assert!(!pool.submit(cancelled).join().unwrap());
    pool.execute(move || sender.send(cancelled()).unwrap());
    assert!(!receiver.recv().unwrap(), "nor one without a handle");
}

#[test]
fn a_job_never_sees_an_ending_jobs_flag() {
    let pool = Pool::new(2);
    for _ in 0..10_000 {
        let one = pool.submit(cancelled);
        let other = pool.submit(cancelled);
        one.cancel();
        assert!(!other.join().unwrap());
    }
}

#[test]
fn a_nested_job_has_its_own_flag() {
    let pool = Pool::new(1);
    let outer = until_cancelled(&pool, || {
        let here = thread::current().id();
        let inner = brigade::submit(move || (cancelled(), thread::current().id() == here));
        let returned = inner.join().unwrap();
        let after_return = cancelled();
        let inner = brigade::submit(|| panic!("expected: inside {}", cancelled()));
        let panicked = inner.join().unwrap_err().panic_message().unwrap().to_owned();
        (returned, after_return, panicked, cancelled())
    });
    outer.cancel();
    let (returned, after_return, panicked, after_panic) = outer.join().unwrap();
    assert_eq!(returned, (false, true), "it is another job, on the same thread");
    assert!(after_return, "the outer one is cancelled still");
    assert_eq!(panicked, "expected: inside false");
    assert!(after_panic, "and after a panic");
}

#[test]
fn a_job_sees_its_flag_inside_blocking() {
    let pool = Pool::new(1);
    let job = until_cancelled(&pool, || brigade::blocking(cancelled));
    job.cancel();
    assert!(job.join().unwrap());
}

#[test]
fn a_job_sees_its_flag_while_it_unwinds() {
    let (pool, (sender, receiver)) = (Pool::new(1), mpsc::channel());
    let capture = OnDrop(move || sender.send(cancelled()).unwrap());
    let job = until_cancelled(&pool, move || {
        let _capture = capture;
        let caught = panic::catch_unwind(AssertUnwindSafe(|| panic!("expected: caught")));
        assert!(caught.is_err() && !cancelled(), "expected: it is cancelled");
    });
    job.cancel();
    assert!(job.join().is_err());
    assert!(receiver.recv().unwrap());
}

#[test((kind, pool) in queue_kinds(2))]
fn jobs_without_a_handle_see_a_discard(pool: Pool) {
    let (begun, begins) = mpsc::channel();
    let ended = Arc::new(());
    for _ in 0..2 {
        let (begun, ended) = (begun.clone(), ended.clone());
        pool.execute(move || {
            begun.send(cancelled()).unwrap();
            wait_until_cancelled();
            drop(ended);
        });
    }
    let begun: Vec<bool> = begins.iter().take(2).collect();
    assert_eq!(begun, [false, false]);
    assert_eq!(pool.shutdown(Shutdown::Discard).ran, 2);
    assert_eq!(Arc::strong_count(&ended), 1);
}

#[test]
fn a_draining_pool_cancels_nothing() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let inner = gate.clone();
    let job = pool.submit(move || {
        inner.wait();
        cancelled()
    });
    open_once_closed(&gate, pool.handle());
    drop(pool);
    assert!(!job.join().unwrap());
}

#[test]
fn only_the_cancelled_job_is_cancelled() {
    assert!(!cancelled());
    let pool = Pool::new(1);
    let job = until_cancelled(&pool, || {
        let elsewhere = thread::spawn(cancelled).join().unwrap();
        let pool = Pool::new(1);
        let (sender, receiver) = mpsc::channel();
        pool.execute(move || sender.send(cancelled()).unwrap());
        elsewhere || receiver.recv().unwrap()
    });
    job.cancel();
    assert!(!job.join().unwrap());
    assert!(!cancelled());
}
