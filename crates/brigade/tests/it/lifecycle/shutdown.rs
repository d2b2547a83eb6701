//! Shutdown: what it runs, what it discards, and when it returns.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::busy::{held, occupy, open_once_closed};
use crate::support::policy::queue_kinds;
use crate::support::reports::{counts, is_cancelled};
use crate::support::verbs::{all_work_comes_back, timed_work_comes_back};
use brigade::{Cause, Handle, JoinError, JoinHandle, Pool, Reason, Shutdown};
use brigade_testkit::{Gate, test};

#[test(how in [Shutdown::Finish, Shutdown::Drain, Shutdown::Discard])]
fn a_far_timeout_is_not_waited_for(how: Shutdown) {
    assert_eq!(counts(Pool::new(2).shutdown(how)), (0, 0, 0));
    for timeout in [Duration::from_secs(3600), Duration::MAX] {
        let pool = Pool::new(2);
        (0..100).for_each(|_| pool.execute(|| ()));
        let report = pool.shutdown(how.timeout(timeout));
        assert_eq!((report.ran + report.discarded, report.still_running), (100, 0));
    }
}

/// Fault 74: two running, five queued.
#[test((kind, pool) in queue_kinds(2))]
fn discard_cancels_queued_and_awaits_running_jobs(pool: Pool) {
    let gate = Gate::closed();
    let running = [(); 2].map(|()| held(&pool, &gate));
    let queued: Vec<_> = (0..5).map(|_| pool.submit(|| unreachable!("discarded"))).collect();
    open_once_closed(&gate, pool.handle());
    let report = pool.shutdown(Shutdown::Discard);
    assert_eq!(counts(report), (2, 5, 0));
    let cancelled = |mut job: JoinHandle<()>| job.try_join().is_some_and(is_cancelled);
    assert!(queued.into_iter().all(cancelled));
    running.into_iter().for_each(|job| job.join().unwrap());
}

#[test]
fn an_ending_pool_returns_its_own_jobs_work() {
    for (how, returned) in [
        (Shutdown::Drain, timed_work_comes_back as fn(Handle, Reason)),
        (Shutdown::Discard, all_work_comes_back),
    ] {
        for (kind, pool) in queue_kinds(2) {
            println!("{how:?}, {kind}");
            let (gate, begun, handle) = (Gate::closed(), Gate::closed(), pool.handle());
            let (inner, begins) = (gate.clone(), begun.clone());
            let job = pool.submit(move || {
                begins.open();
                inner.wait();
                returned(handle, Reason::Closed);
            });
            begun.wait();
            open_once_closed(&gate, handle);
            assert_eq!(counts(pool.shutdown(how)), (1, 0, 0));
            job.join().unwrap();
        }
    }
}

#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn a_passed_deadline_is_reported(how: Shutdown) {
    for asked in [0, 1, 1_000_000, 50_000_000].map(Duration::from_nanos) {
        let (pool, gate) = (Pool::new(1), Gate::closed());
        occupy(&pool, &gate);
        let queued = pool.submit(|| ());
        let begun = Instant::now();
        let report = pool.shutdown(how.timeout(asked));
        assert!(begun.elapsed() >= asked, "{:?} of {asked:?}", begun.elapsed());
        assert!(report.still_running >= 1, "{report:?}");
        gate.open();
        // It has an outcome in either case, although no call waits for the pool any more.
        assert!(matches!(queued.join(), Ok(()) | Err(JoinError::Cancelled(Cause::Ended))));
    }
}

/// Fault 76: the waiters run; what they wait for is only queued when the shutdown begins.
#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn drain_and_discard_release_waiting_jobs(how: Shutdown) {
    for (threads, own) in [(1, false), (2, false), (1, true), (2, true)] {
        for (kind, pool) in queue_kinds(threads) {
            let (gate, kind) = (Gate::closed(), format!("{kind}, own children: {own}"));
            let waiters = waiters(&pool, &gate, own);
            open_once_closed(&gate, pool.handle());
            let report = pool.shutdown(how);
            assert_eq!(report.ran + report.discarded, 2 * threads as u64, "{kind}");
            let outcomes = waiters.into_iter().map(|job| job.join().unwrap());
            let released = outcomes.filter(|outcome| match outcome {
                Ok(value) => *value == 7,
                Err(JoinError::Cancelled(Cause::Ended)) => false,
                Err(other) => unreachable!("nothing panics here: {other}"),
            });
            assert_eq!(released.count() as u64, report.ran - threads as u64, "{kind}");
            assert!(report.discarded == 0 || matches!(how, Shutdown::Discard), "{kind}");
        }
    }
}

/// One running job on each worker that, once the gate is open, waits for one queued behind it: its own child, or one from outside.
fn waiters(pool: &Pool, gate: &Gate, own: bool) -> Vec<JoinHandle<Result<u32, JoinError>>> {
    let (started, starts) = mpsc::channel();
    let (passes, jobs): (Vec<_>, Vec<_>) = (0..*pool.size().end())
        .map(|_| {
            let (pass, passed) = mpsc::channel::<JoinHandle<u32>>();
            let (gate, started) = (gate.clone(), started.clone());
            let job = pool.submit(move || {
                let child = own.then(|| brigade::submit(|| 7));
                started.send(()).unwrap();
                let queued = child.unwrap_or_else(|| passed.recv().unwrap());
                gate.wait();
                queued.join()
            });
            (pass, job)
        })
        .unzip();
    passes.iter().for_each(|_| starts.recv().unwrap());
    let passes = passes.into_iter().filter(|_| !own);
    passes.for_each(|pass| pass.send(pool.submit(|| 7)).unwrap());
    jobs
}
