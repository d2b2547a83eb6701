//! A job that has not started can be cancelled; one that has started continues.

use std::sync::mpsc;
use std::thread;

use crate::support::reports::counts;
use brigade::{Pool, Shutdown};
use brigade_testkit::{Gate, test};

/// A pool of one whose only thread is busy until something is sent.
fn busy() -> (Pool, mpsc::Sender<()>) {
    let (pool, (go, wait)) = (Pool::new(1), mpsc::channel());
    let (begun, begins) = mpsc::channel();
    pool.execute(move || {
        begun.send(()).unwrap();
        wait.recv().unwrap();
    });
    begins.recv().unwrap();
    (pool, go)
}

#[test]
fn a_handle_that_cancels_on_drop_gives_the_outcome_if_it_is_waited_for() {
    let (pool, go) = busy();
    let dropped = pool.submit(|| unreachable!()).cancel_on_drop();
    let waited_for = pool.submit(|| 42).cancel_on_drop();
    drop(dropped);
    go.send(()).unwrap();
    assert_eq!(waited_for.join().unwrap(), 42);
    let report = pool.shutdown(Shutdown::Drain);
    assert_eq!((report.ran, report.discarded), (2, 1));
}

#[test]
fn a_job_whose_pool_is_gone_has_its_outcome_already() {
    let (pool, go) = busy();
    let handle = pool.submit(|| 42);
    go.send(()).unwrap();
    drop(pool);
    assert!(!handle.cancel());
    assert_eq!(handle.join().unwrap(), 42);
}

/// Says when its drop has begun, and waits there.
struct HeldDrop {
    began: mpsc::Sender<()>,
    goes_on: Gate,
}

impl Drop for HeldDrop {
    fn drop(&mut self) {
        self.began.send(()).unwrap();
        self.goes_on.wait();
    }
}

#[test]
fn a_shutdown_waits_for_a_job_whose_captures_are_being_dropped_and_reports_it_as_discarded() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let pool = Pool::new(1);
        let (busy, running, gate) = (Gate::closed(), Gate::closed(), Gate::closed());
        let (waits, runs) = (busy.clone(), running.clone());
        pool.execute(move || {
            runs.open();
            waits.wait();
        });
        running.wait();
        let (began, begins) = mpsc::channel();
        let captured = HeldDrop { began, goes_on: gate.clone() };
        let job = pool.submit(move || drop(captured));
        let cancels = thread::spawn(move || job.cancel());
        begins.recv().unwrap();
        busy.open();
        let handle = pool.handle();
        let (told, tells) = mpsc::channel();
        let ends = thread::spawn(move || told.send(pool.shutdown(how)).unwrap());
        brigade_testkit::eventually("the pool is being shut down", || handle.metrics().is_closed);
        assert!(tells.try_recv().is_err(), "the drop has not ended");
        gate.open();
        let report = tells.recv().unwrap();
        assert_eq!(counts(report), (1, 1, 0), "{how:?}");
        assert!(cancels.join().unwrap());
        ends.join().unwrap();
    }
}
