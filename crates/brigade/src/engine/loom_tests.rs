//! Models of the whole engine with one or two workers: the real loop, the real way to sleep, the real end.
//! `ci/loom.sh` runs them; each half of the wake rule by itself is in the models of [`crate::idle`].
//!
//! No job here looks for its worker: that is in a thread-local of `std`, to which a model is one thread.

use std::sync::Arc;

use brigade_sync::model::{check, turn};
use brigade_task::{Job, JoinError, Ran};
use loom::thread;

use super::{Core, Worker};
use crate::config::{Config, OnPanic, Placement, Queueing, Shutdown};

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A pool, and its workers' threads.
fn pool<const THREADS: usize>(
    queueing: Queueing,
) -> (Arc<Core>, [thread::JoinHandle<()>; THREADS]) {
    let config = Config {
        threads: THREADS,
        queueing,
        placement: Placement::Kernel,
        // Loom reports by panicking; a worker that goes on would not end.
        on_panic: OnPanic::Abort,
        ..Config::default()
    };
    let (core, locals) = Core::new(0, config);
    let core = Arc::new(core);
    let mut locals = locals.into_iter();
    let workers = core::array::from_fn(|index| {
        let (core, local) = (core.clone(), locals.next().unwrap());
        thread::spawn(move || {
            turn();
            Worker::live(core, index, local);
        })
    });
    (core, workers)
}

#[test]
fn a_drained_pool_has_run_what_it_accepted() {
    check(3, || {
        let (core, [worker]) = pool(Queueing::Shared);
        let (job, mut handle) = Job::with_handle(|| 42);
        turn();
        assert!(core.inject(job).is_ok());
        turn();
        core.close(Shutdown::Drain);
        assert!(core.inject(Job::new(|| ())).is_err());
        worker.join().unwrap();
        assert!(matches!(handle.try_join(), Some(Ok(42))));
        let metrics = core.metrics();
        assert_eq!((metrics.accepted, metrics.returned), (1, 1));
    });
}

#[test]
fn a_discarded_pool_has_run_or_cancelled_what_it_accepted() {
    check(3, || {
        let (core, [worker]) = pool(Queueing::Shared);
        let (job, mut handle) = Job::with_handle(|| 42);
        turn();
        assert!(core.inject(job).is_ok());
        turn();
        core.close(Shutdown::Discard);
        worker.join().unwrap();
        let metrics = core.metrics();
        match handle.try_join() {
            Some(Ok(42)) => assert_eq!((metrics.returned, metrics.cancelled), (1, 0)),
            Some(Err(JoinError::Cancelled)) => {
                assert_eq!((metrics.returned, metrics.cancelled), (0, 1));
            }
            other => panic!("neither run nor cancelled: {other:?}"),
        }
    });
}

#[test]
fn who_waits_for_quiet_finds_the_work_done() {
    check(3, || {
        let (core, [worker]) = pool(Queueing::Shared);
        let (job, mut handle) = Job::with_handle(|| 42);
        turn();
        assert!(core.inject(job).is_ok());
        turn();
        assert!(core.wait_idle(None));
        assert!(handle.is_finished());
        core.close(Shutdown::Drain);
        worker.join().unwrap();
        assert!(matches!(handle.try_join(), Some(Ok(42))));
    });
}

#[test]
fn a_worker_leaves_behind_a_job_that_was_run_by_who_waits() {
    check(3, || {
        let (core, [worker]) = pool(Queueing::Shared);
        let (job, mut handle) = Job::with_handle(|| 42);
        turn();
        assert!(core.inject(job).is_ok());
        turn();
        let here = handle.settle_if_unclaimed(true);
        assert!(matches!(here, None | Some(Ran::Returned)));
        assert!(matches!(handle.join(), Ok(42)));
        core.close(Shutdown::Drain);
        worker.join().unwrap();
    });
}

/// Caught: `settle` looking for work before it looks whether the pool is closed. A job accepted between the
/// two was never run.
#[test]
fn a_job_accepted_beside_a_close_is_run() {
    check(3, || {
        let (core, [worker]) = pool(Queueing::Shared);
        let (job, mut handle) = Job::with_handle(|| 42);
        let submitter = thread::spawn({
            let core = core.clone();
            move || {
                turn();
                core.inject(job).is_ok()
            }
        });
        turn();
        core.close(Shutdown::Drain);
        let accepted = submitter.join().unwrap();
        worker.join().unwrap();
        match handle.try_join() {
            Some(Ok(42)) => assert!(accepted),
            Some(Err(JoinError::Cancelled)) => assert!(!accepted),
            other => panic!("accepted: {accepted}, outcome: {other:?}"),
        }
    });
}

/// Two workers; the second job stays for whoever is awake, and neither sleeps for ever.
fn two_workers(queueing: Queueing) {
    check(1, move || {
        let (core, workers) = pool::<2>(queueing);
        let (one, mut first) = Job::with_handle(|| 1);
        let (two, mut second) = Job::with_handle(|| 2);
        turn();
        assert!(core.inject(one).is_ok());
        turn();
        assert!(core.inject(two).is_ok());
        turn();
        core.close(Shutdown::Drain);
        for worker in workers {
            worker.join().unwrap();
        }
        assert!(matches!(first.try_join(), Some(Ok(1))));
        assert!(matches!(second.try_join(), Some(Ok(2))));
    });
}

#[test]
fn two_workers_share_a_queue_until_it_is_drained() {
    two_workers(Queueing::Shared);
}

#[test]
fn two_workers_steal_until_all_is_drained() {
    two_workers(Queueing::Stealing);
}
