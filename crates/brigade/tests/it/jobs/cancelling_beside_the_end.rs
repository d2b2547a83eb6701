//! A job that is being cancelled as its pool ends has its outcome when that returns.

use std::sync::mpsc;
use std::thread;

use crate::support::reports::counts;
use brigade::{Pool, Shutdown};
use brigade_testkit::{Gate, Watchdog};

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
    let _dog = Watchdog::start(60);
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
        let mut job = pool.submit(move || drop(captured));
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
