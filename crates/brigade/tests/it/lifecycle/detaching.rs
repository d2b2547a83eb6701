//! A pool that is detached, by a shutdown with a timeout of 0 and its drop, finishes by itself.

use std::sync::mpsc;
use std::time::Duration;

use crate::support::busy::{let_go, occupy};
use crate::support::policy::queue_kinds;
use brigade::{Pool, Reason};
use brigade_testkit::{Gate, test};

const LONG: Duration = Duration::from_secs(10);

#[test]
fn detach_does_not_wait_and_everything_accepted_still_runs() {
    for (kind, pool) in queue_kinds(2) {
        let (gate, handle) = (Gate::closed(), pool.handle());
        occupy(&pool, &gate);
        let queued: Vec<_> = (0..100)
            .map(|n| pool.submit(move || brigade::submit(move || n).join().unwrap()))
            .collect();
        // It would never return if it waited.
        let_go(pool);
        assert_eq!(handle.try_execute(|| ()).unwrap_err().reason(), Reason::Closed, "{kind}");
        gate.open();
        let sum: i32 = queued.into_iter().map(|job| job.join().unwrap()).sum();
        assert_eq!(sum, 4950, "{kind}");
    }
}

#[test]
fn the_threads_of_a_detached_pool_end_by_themselves() {
    let (stopped, stops) = mpsc::channel();
    let hook = move |_| stopped.send(()).unwrap();
    let pool = Pool::builder().threads(3).prestart(3).on_stop(hook).build().unwrap();
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let_go(pool);
    assert!(stops.try_recv().is_err(), "they are busy");
    gate.open();
    (0..3).for_each(|_| stops.recv_timeout(LONG).expect("it stops"));
}
