//! Shutdown: what it runs, what it discards, and when it returns.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::support::busy::{occupy, open_once_closed};
use crate::support::policy::queue_kinds;
use crate::support::reports::counts;
use brigade::{Handle, JoinError, JoinHandle, Pool, Reason, Shutdown};
use brigade_testkit::{Gate, eventually, test};

fn cancelled<T>(mut job: JoinHandle<T>) -> bool {
    matches!(job.try_join(), Some(Err(JoinError::Cancelled)))
}

#[test]
fn a_pool_that_did_nothing_reports_nothing() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        assert_eq!(counts(Pool::new(2).shutdown(how)), (0, 0, 0));
        assert_eq!(counts(Pool::new(2).shutdown(how.timeout(Duration::MAX))), (0, 0, 0));
    }
}

/// Fault 74: two running, five queued.
#[test]
fn discard_cancels_exactly_the_queued_and_waits_for_the_running() {
    for (kind, pool) in queue_kinds(2) {
        let gate = Gate::closed();
        let running: Vec<_> = (0..2)
            .map(|n| {
                let (gate, started) = (gate.clone(), Gate::closed());
                let announce = started.clone();
                let job = pool.submit(move || {
                    announce.open();
                    gate.wait();
                    n
                });
                started.wait();
                job
            })
            .collect();
        let queued: Vec<_> = (0..5).map(|_| pool.submit(|| unreachable!("discarded"))).collect();
        open_once_closed(&gate, pool.handle());
        let report = pool.shutdown(Shutdown::Discard);
        assert_eq!(counts(report), (2, 5, 0), "{kind}");
        assert!(queued.into_iter().all(cancelled::<()>), "{kind}");
        let values: Vec<_> = running.into_iter().map(|job| job.join().unwrap()).collect();
        assert_eq!(values, [0, 1], "{kind}");
    }
}

#[test]
fn drain_takes_jobs_from_its_workers_and_none_from_outside() {
    for (kind, pool) in queue_kinds(2) {
        let (handle, (answer, answers)) = (pool.handle(), mpsc::channel());
        let outside = std::thread::spawn(move || {
            eventually("the pool closes", || handle.metrics().is_closed);
            handle.try_execute(|| ()).map_err(|rejected| rejected.reason())
        });
        let gate = Gate::closed();
        let inner = gate.clone();
        pool.execute(move || {
            inner.wait();
            let child = Handle::current().unwrap().try_submit(|| 7);
            answer.send(child.map_err(|rejected| rejected.reason())).unwrap();
        });
        open_once_closed(&gate, pool.handle());
        assert_eq!(pool.shutdown(Shutdown::Drain).ran, 2, "{kind}");
        assert!(matches!(outside.join().unwrap(), Err(Reason::Closed)), "{kind}");
        let child = answers.recv().unwrap().unwrap_or_else(|_| panic!("rejected, {kind}"));
        assert_eq!(child.join().unwrap(), 7, "{kind}");
    }
}

#[test]
fn discard_takes_no_job_from_its_workers_either() {
    for (kind, pool) in queue_kinds(2) {
        let (gate, handle, (answer, answers)) = (Gate::closed(), pool.handle(), mpsc::channel());
        let (begun, inner) = (Gate::closed(), gate.clone());
        let tell = begun.clone();
        pool.execute(move || {
            tell.open();
            inner.wait();
            let identity = Arc::new(());
            let capture = Arc::clone(&identity);
            let rejected = handle.try_execute(move || drop(capture)).expect_err("discarding");
            assert!(matches!(rejected.reason(), Reason::Closed));
            let held = Arc::strong_count(&identity);
            rejected.into_inner()();
            answer.send((held, Arc::strong_count(&identity))).unwrap();
        });
        begun.wait();
        open_once_closed(&gate, pool.handle());
        let report = pool.shutdown(Shutdown::Discard);
        assert_eq!(counts(report), (1, 0, 0), "{kind}");
        assert_eq!(answers.recv().ok(), Some((2, 1)), "the closure came back, {kind}");
    }
}

#[test]
fn a_join_of_an_unstarted_child_during_a_discard_returns_cancelled() {
    for (kind, pool) in queue_kinds(1) {
        let (gate, handle) = (Gate::closed(), pool.handle());
        let (begun, inner) = (Gate::closed(), gate.clone());
        let tell = begun.clone();
        let parent = pool.submit(move || {
            let child = handle.try_submit(|| panic!("it must not run")).expect("open");
            tell.open();
            inner.wait();
            matches!(child.join(), Err(JoinError::Cancelled))
        });
        begun.wait();
        open_once_closed(&gate, pool.handle());
        let report = pool.shutdown(Shutdown::Discard);
        assert_eq!(counts(report), (1, 1, 0), "{kind}");
        assert!(parent.join().unwrap(), "{kind}");
    }
}

#[test]
fn a_deadline_that_passes_is_waited_for_and_reported() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        for asked in [0, 1, 1_000_000, 50_000_000].map(Duration::from_nanos) {
            let (pool, gate) = (Pool::new(1), Gate::closed());
            occupy(&pool, &gate);
            let queued = pool.submit(|| ());
            let begun = Instant::now();
            let report = pool.shutdown(how.timeout(asked));
            assert!(begun.elapsed() >= asked, "{:?} of {asked:?}", begun.elapsed());
            assert!(report.still_running >= 1, "{how:?}: {report:?}");
            gate.open();
            // It has an outcome in either case, although no call waits for the pool any more.
            assert!(matches!(queued.join(), Ok(()) | Err(JoinError::Cancelled)), "{how:?}");
        }
    }
}

#[test]
fn a_deadline_that_is_far_off_is_not_waited_for() {
    for limit in [Duration::from_secs(3600), Duration::MAX] {
        let pool = Pool::new(2);
        (0..100).for_each(|_| pool.execute(|| ()));
        let report = pool.shutdown(Shutdown::Drain.timeout(limit));
        assert_eq!(counts(report), (100, 0, 0));
    }
}

/// Fault 76: the waiters run; what they wait for is only queued when the shutdown begins.
#[test]
fn jobs_that_wait_for_queued_ones_are_released_by_drain_and_by_discard() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        for threads in [1, 2] {
            for (kind, pool) in queue_kinds(threads) {
                let gate = Gate::closed();
                let waiters = waiters(&pool, &gate);
                open_once_closed(&gate, pool.handle());
                let report = pool.shutdown(how);
                assert_eq!(report.ran + report.discarded, 2 * threads as u64, "{kind}");
                let outcomes = waiters.into_iter().map(|job| job.join().unwrap());
                let released = outcomes.filter(|outcome| match outcome {
                    Ok(value) => *value == 7,
                    Err(JoinError::Cancelled) => false,
                    Err(other) => unreachable!("nothing panics here: {other}"),
                });
                assert_eq!(released.count() as u64, report.ran - threads as u64, "{kind}");
                assert!(report.discarded == 0 || matches!(how, Shutdown::Discard), "{kind}");
            }
        }
    }
}

/// One running job on each worker that, once the gate is open, waits for one queued behind it.
fn waiters(pool: &Pool, gate: &Gate) -> Vec<JoinHandle<Result<u32, JoinError>>> {
    let (started, starts) = mpsc::channel();
    let (passes, jobs): (Vec<_>, Vec<_>) = (0..*pool.size().end())
        .map(|_| {
            let (pass, passed) = mpsc::channel::<JoinHandle<u32>>();
            let (gate, started) = (gate.clone(), started.clone());
            let job = pool.submit(move || {
                started.send(()).unwrap();
                let queued = passed.recv().unwrap();
                gate.wait();
                queued.join()
            });
            (pass, job)
        })
        .unzip();
    passes.iter().for_each(|_| starts.recv().unwrap());
    passes.into_iter().for_each(|pass| pass.send(pool.submit(|| 7)).unwrap());
    jobs
}

#[test]
fn shutdown_after_a_panic_storm_reports_every_job() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let pool = Pool::new(4);
        (0..2000).for_each(|_| pool.execute(|| panic!("expected")));
        let report = pool.shutdown(how);
        assert_eq!((report.ran + report.discarded, report.still_running), (2000, 0), "{how:?}");
    }
}
