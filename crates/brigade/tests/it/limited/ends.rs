//! The end of the pool, and of a view.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use brigade::{Builder, Cause, JoinError, JoinHandle, NewThread, Pool, Queueing, Shutdown};
use brigade_testkit::{Drops, Gate, test};

use super::held;
use crate::support::busy::open_once_closed;
use crate::support::crowd::for_both_queueings;

#[test(queueing in [Queueing::Stealing, Queueing::Shared])]
fn a_drained_pool_runs_the_line(queueing: Queueing) {
    for threads in [1, 3] {
        let pool = Pool::builder().queueing(queueing).threads(threads).build().unwrap();
        let (limited, gate) = (pool.limited(2), Gate::closed());
        let ran = Arc::new(AtomicUsize::new(0));
        limited.execute(gate.job());
        limited.execute(gate.job());
        for _ in 0..100 {
            let ran = ran.clone();
            limited.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed));
            drop(limited.spawn(async {}));
        }
        drop(limited);
        open_once_closed(&gate, pool.handle());
        let report = pool.shutdown(Shutdown::Drain);
        assert_eq!(ran.load(Ordering::Relaxed), 100);
        assert_eq!((report.ran, report.discarded, report.still_running), (202, 0, 0));
    }
}

/// Caught: the submitter that starts the first thread has the permit, and its job is in no queue yet.
#[test]
fn a_pool_whose_line_waits_for_a_submitter_is_not_idle_and_has_not_ended() {
    for closes in [false, true] {
        let (starts, gate) = (Gate::closed(), Gate::closed());
        let (begun, goes_on) = (starts.clone(), gate.clone());
        let spawner = move |thread: NewThread| {
            begun.open();
            goes_on.wait();
            thread.start()
        };
        let pool = Pool::builder().threads(1).prestart(0).spawner(spawner).build().unwrap();
        let limited = pool.limited(1);
        thread::scope(|threads| {
            let first = threads.spawn(|| limited.try_submit(|| 1).ok().map(JoinHandle::join));
            starts.wait();
            let second = limited.submit(|| 2);
            assert!(!pool.wait_idle_timeout(Duration::ZERO));
            if closes {
                pool.close();
            }
            gate.open();
            assert_eq!(second.join().unwrap(), 2);
            let first = first.join().unwrap();
            assert_eq!(first.is_some(), !closes);
            assert!(first.is_none_or(|first| first.unwrap() == 1));
        });
    }
}

#[test(for_both_queueings)]
fn a_discarded_pool_cancels_the_line(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (limited, gate, drops) = (pool.limited(1), Gate::closed(), Drops::default());
    drop(held(&limited, &gate));
    let mut jobs = Vec::new();
    for _ in 0..100 {
        let token = drops.token();
        jobs.push(limited.submit(move || drop(token)));
        let token = drops.token();
        jobs.push(limited.spawn(async { drop(token) }));
    }
    open_once_closed(&gate, pool.handle());
    let report = pool.shutdown(Shutdown::Discard);
    for job in jobs {
        assert!(matches!(job.join(), Err(JoinError::Cancelled(Cause::Ended))));
    }
    assert_eq!((report.ran, report.discarded, report.still_running), (1, 200, 0));
    assert_eq!(drops.count(), 200);
    let metrics = pool.metrics();
    assert_eq!((metrics.accepted, metrics.cancelled, metrics.queued_limited), (201, 200, 0));
}

/// The view is not needed by its jobs.
#[test(for_both_queueings)]
fn a_dropped_view_runs_its_jobs(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let gate = Gate::closed();
    let jobs: Vec<_> = {
        let limited = pool.limited(1);
        limited.execute(gate.job());
        (0..10).map(|number| limited.submit(move || number)).collect()
    };
    gate.open();
    assert!(jobs.into_iter().map(|job| job.join().unwrap()).eq(0..10));
}
