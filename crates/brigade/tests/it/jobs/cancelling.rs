//! A job that has not started can be cancelled; one that has started continues.

use std::sync::mpsc;
use std::thread;

use crate::support::busy::held;
use crate::support::full::at_rest;
use crate::support::reports::counts;
use brigade::{Pool, Shutdown, cancelled};
use brigade_testkit::{Drops, Gate, Latch, OnDrop, Token, eventually, test};

#[test]
fn a_dropped_guard_cancels_and_a_join_does_not() {
    let (pool, latch, drops) = (Pool::new(1), Latch::default(), Drops::default());
    let future = |token: Token| {
        let waits = latch.wait();
        async move {
            waits.await;
            drop(token);
        }
    };
    drop(pool.spawn(future(drops.token())));
    let waiting = pool.spawn(future(drops.token())).cancel_on_drop();
    eventually("both wait", || latch.waiting() == 2);
    let (told, tells) = mpsc::channel();
    let job = move || {
        told.send("begun").unwrap();
        while !cancelled() {
            thread::yield_now();
        }
        told.send("stopped").unwrap();
    };
    let running = pool.submit(job).cancel_on_drop();
    assert_eq!(tells.recv(), Ok("begun"));
    let queued = pool.submit(|| unreachable!()).cancel_on_drop();
    let joined = pool.submit(|| 42).cancel_on_drop();
    // The queued job first: its thread is free once the running one has stopped.
    drop((queued, waiting, running));
    assert_eq!(tells.recv(), Ok("stopped"));
    assert_eq!(joined.join().unwrap(), 42);
    eventually("one future is dropped", || drops.count() == 1);
    latch.open();
    assert_eq!((at_rest(&pool), drops.count()), ([5, 3, 0, 2, 0], 2));
}

#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn a_shutdown_awaits_a_discarded_jobs_drop(how: Shutdown) {
    let (pool, busy, gate) = (Pool::new(1), Gate::closed(), Gate::closed());
    held(&pool, &busy);
    let ((began, begins), goes_on) = (mpsc::channel(), gate.clone());
    let captured = OnDrop(move || {
        began.send(()).unwrap();
        goes_on.wait();
    });
    let job = pool.submit(move || drop(captured));
    let cancels = thread::spawn(move || job.cancel());
    begins.recv().unwrap();
    busy.open();
    let handle = pool.handle();
    let (told, tells) = mpsc::channel();
    let ends = thread::spawn(move || told.send(pool.shutdown(how)).unwrap());
    eventually("the pool is being shut down", || handle.metrics().is_closed);
    assert!(tells.try_recv().is_err(), "the drop has not ended");
    gate.open();
    assert_eq!(counts(tells.recv().unwrap()), (1, 1, 0));
    assert!(cancels.join().unwrap());
    ends.join().unwrap();
}
