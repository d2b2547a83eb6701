//! Submitters that block in a full pool: each is woken in time.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::crowd::for_both_queueings;
use crate::support::full::{at_rest, busy, full};
use brigade::{Builder, JobBuilder, JoinHandle, Pool, Reason, Shutdown, WhenFull};
use brigade_testkit::{BlockedThread, test};

#[test(for_both_queueings)]
fn a_start_or_cancel_wakes_a_blocked_submitter(builder: Builder) {
    let (pool, gate) = busy(builder, 1, WhenFull::Block);
    let queued = pool.submit(|| ());
    let wakes: [&mut dyn FnMut(); 2] = [&mut || assert!(queued.cancel()), &mut || gate.open()];
    for wake in wakes {
        let submitter = BlockedThread::default();
        thread::scope(|scope| {
            let submits = scope.spawn(|| {
                submitter.is_this();
                pool.execute(|| ());
            });
            submitter.wait_until_blocked();
            assert!(!submits.is_finished());
            wake();
        });
    }
    assert_eq!(at_rest(&pool), [4, 3, 0, 1, 0]);
}

#[test(how in [Shutdown::Drain, Shutdown::Discard], for_both_queueings)]
fn the_close_wakes_blocked_submitters(builder: Builder, how: Shutdown) {
    let (pool, gate) = full(builder, 2, WhenFull::Block);
    let (handle, token) = (pool.handle(), Arc::new(()));
    let submitters = [(); 3].map(|()| BlockedThread::default());
    let waits = submitters.each_ref().map(|submitter| {
        let (token, submitter) = (token.clone(), submitter.clone());
        thread::spawn(move || {
            submitter.is_this();
            let rejected = handle.job().submit(move || token).map(|_| ()).unwrap_err();
            (rejected.reason(), rejected.into_inner()())
        })
    });
    submitters.iter().for_each(BlockedThread::wait_until_blocked);
    let closing = thread::spawn(move || pool.shutdown(how));
    for wait in waits {
        // The only worker is still busy: they were not woken by a free permit.
        let (reason, back) = wait.join().unwrap();
        assert_eq!(reason, Reason::Closed);
        assert!(Arc::ptr_eq(&back, &token));
    }
    gate.open();
    let report = closing.join().unwrap();
    assert_eq!(report.ran + report.discarded, 3);
}

#[test]
fn a_permit_wait_lasts_its_whole_timeout() {
    const WHILE: Duration = Duration::from_millis(5);
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::BlockFor(WHILE));
    for time in [None, Some(WHILE), Some(3 * WHILE), Some(Duration::ZERO)] {
        let policy = time.map(WhenFull::BlockFor);
        let job = || policy.into_iter().fold(pool.job(), JobBuilder::when_full);
        let begun = Instant::now();
        assert_eq!(job().execute(|| unreachable!()).unwrap_err().reason(), Reason::Full);
        assert_eq!(job().submit(|| unreachable!()).unwrap_err().reason(), Reason::Full);
        assert!(begun.elapsed() >= 2 * time.unwrap_or(WHILE), "{time:?}");
    }
    gate.open();
    assert_eq!(at_rest(&pool), [2, 2, 0, 0, 0]);
}

#[test(timeout in [Duration::from_secs(3600), Duration::MAX])]
fn a_released_permit_ends_a_wait_before_its_timeout(timeout: Duration) {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::Reject);
    let submitter = BlockedThread::default();
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            submitter.is_this();
            let job = pool.job().when_full(WhenFull::BlockFor(timeout));
            job.submit(|| 42).unwrap().join().unwrap()
        });
        submitter.wait_until_blocked();
        gate.open();
        assert_eq!(waits.join().unwrap(), 42);
    });
}

#[test]
fn another_pools_worker_in_a_permit_wait_is_replaced() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::Block);
    let (other, handle) = (Pool::new(1), pool.handle());
    let (sender, begun) = mpsc::channel();
    let waits = other.submit(move || {
        sender.send(()).unwrap();
        handle.submit(|| 42)
    });
    begun.recv().unwrap();
    // Behind it on the only thread of that pool.
    other.execute(move || gate.open());
    let accepted: JoinHandle<_> = waits.join().unwrap();
    assert_eq!(accepted.join().unwrap(), 42);
}
