//! Models of the whole engine with one or two workers: the real loop, the real way to sleep, the real end. `ci/loom.sh` runs
//! them; the models of [`crate::idle`] have each half of the wake-up rule separately.
//!
//! No job here uses its worker: that is in a thread-local of `std`, for which a whole model is one thread.

use std::sync::Arc;
use std::time::Instant;

use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::model::{check, check_within, turn};
use brigade_task::{Job, JoinError, Outcome};
use loom::thread;

use super::lanes::{Accepts, Lanes};
use super::{Child, Core, Worker};
use crate::config::{Config, OnPanic, Placement, Queueing, Shutdown, Size};
use crate::idle::Idle;
use crate::key::Key;
use crate::priority::Priority;
use crate::timers::{Due, Entry};

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A pool, and its workers' threads.
fn pool<const THREADS: usize>(
    queueing: Queueing,
) -> (Arc<Core>, [thread::JoinHandle<()>; THREADS]) {
    let config = Config {
        size: Size { core: THREADS, max: THREADS, spare: 0 },
        queueing,
        placement: Placement::Kernel,
        // Loom reports errors by panicking; a worker that contained the panic would not end.
        on_panic: OnPanic::Abort,
        ..Config::default()
    };
    let core = Core::new(Key::new::<Child>(false, false).unwrap(), config, None, Worker::live);
    let workers = core::array::from_fn(|_| {
        let index = core.enlist_for_a_model();
        let core = core.clone();
        thread::spawn(move || {
            turn();
            Worker::live(core, index);
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
    check(2, || {
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
        assert!(matches!(here, None | Some(Outcome::Returned)));
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

/// As the one above, for the queues of the other classes.
fn a_job_of_a_class_beside_a_close(class: Priority) {
    check(2, move || {
        let (core, [worker]) = pool(Queueing::Shared);
        let (job, mut handle) = Job::with_handle(|| 42);
        let submitter = thread::spawn({
            let core = core.clone();
            move || {
                turn();
                core.inject_as(class, job).is_ok()
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
        assert!(!core.idle.snapshot().is_prioritized());
    });
}

#[test]
fn a_high_job_accepted_beside_a_close_is_run() {
    a_job_of_a_class_beside_a_close(Priority::High);
}

/// Caught: a last look that leaves out the lanes.
#[test]
fn a_low_job_accepted_beside_a_close_is_run() {
    a_job_of_a_class_beside_a_close(Priority::Low);
}

/// Two threads queue a high job each, and one takes what it finds: after that the bit says whether there is one.
///
/// Caught: the bit changed after the lane's lock has been released, by a push and by a pop.
#[test]
fn the_state_says_whether_high_jobs_are_queued() {
    check(3, || {
        let idle = Arc::new(Idle::new(&Config::default(), 1));
        let lanes = Arc::new(Lanes::default());
        let pushes = [(); 2].map(|()| {
            let (idle, lanes) = (idle.clone(), lanes.clone());
            thread::spawn(move || {
                turn();
                let job = Job::new(|| ());
                assert!(lanes.push(Priority::High, job, Accepts::Always, &idle).is_ok());
            })
        });
        for _ in 0..2 {
            turn();
            // Whatever the bit says, as an eviction does.
            lanes.pop_high(&idle);
        }
        for push in pushes {
            push.join().unwrap();
        }
        assert_eq!(idle.snapshot().is_prioritized(), !lanes.is_empty());
    });
}

/// Caught: the token set before the job; a claimed worker that is still counted as parked.
#[test]
fn a_dispatched_job_runs_or_comes_back_beside_a_close() {
    check(2, || {
        let (core, [worker]) = pool(Queueing::Shared);
        let ran = Arc::new(AtomicUsize::new(0));
        let dispatcher = thread::spawn({
            let (core, ran) = (core.clone(), ran.clone());
            move || {
                turn();
                // Ordering: Relaxed, here and below: threads are joined in between.
                let job = move || _ = ran.fetch_add(1, Ordering::Relaxed);
                let jobs = core::iter::once(job);
                let (refused, rest) = super::dispatch(&core, None, Priority::Normal, jobs);
                refused.len() + rest.count()
            }
        });
        turn();
        core.close(Shutdown::Drain);
        let back = dispatcher.join().unwrap();
        worker.join().unwrap();
        let ran = ran.load(Ordering::Relaxed);
        assert_eq!(ran + back, 1);
        let metrics = core.metrics();
        assert_eq!((metrics.accepted, metrics.returned), (ran as u64, ran as u64));
    });
}

/// Sends a broadcast beside `close`, and checks that each share has run, or been cancelled if the pool is discarded.
fn broadcast_beside<const THREADS: usize>(preemptions: usize, how: Shutdown) {
    check_within(preemptions, preemptions - 1, move || {
        let (core, workers) = pool::<THREADS>(Queueing::Shared);
        let sender = thread::spawn({
            let core = core.clone();
            move || {
                turn();
                core.broadcast(false, || Job::with_handle(|| 42)).unwrap_or_default()
            }
        });
        turn();
        core.close(how);
        let shares = sender.join().unwrap();
        for worker in workers {
            worker.join().unwrap();
        }
        assert!(shares.is_empty() || shares.iter().map(|&(index, _)| index).eq(0..THREADS));
        let mut ran = 0;
        for (index, mut share) in shares {
            match share.try_join() {
                Some(Ok(42)) => ran += 1,
                Some(Err(JoinError::Cancelled)) if how == Shutdown::Discard => {}
                other => panic!("the share of {index}: {other:?}"),
            }
        }
        assert_eq!(core.metrics().returned, ran);
    });
}

#[test]
fn a_share_sent_beside_a_close_is_run_or_refused() {
    broadcast_beside::<1>(2, Shutdown::Drain);
}

#[test]
fn a_share_sent_beside_a_discard_has_an_outcome_or_is_refused() {
    broadcast_beside::<1>(2, Shutdown::Discard);
}

#[test]
fn both_shares_sent_beside_a_close_are_run_or_refused() {
    broadcast_beside::<2>(1, Shutdown::Drain);
}

/// Two workers; a second job remains for the worker that is awake, and neither sleeps forever.
fn two_workers<const JOBS: usize>(queueing: Queueing) {
    check_within(1, 0, move || {
        let (core, workers) = pool::<2>(queueing);
        let handles: [_; JOBS] = core::array::from_fn(|number| {
            let (job, handle) = Job::with_handle(move || number);
            turn();
            assert!(core.inject(job).is_ok());
            handle
        });
        turn();
        core.close(Shutdown::Drain);
        for worker in workers {
            worker.join().unwrap();
        }
        for (number, mut handle) in handles.into_iter().enumerate() {
            assert!(matches!(handle.try_join(), Some(Ok(ran)) if ran == number));
        }
    });
}

#[test]
fn two_workers_share_a_queue_until_it_is_drained() {
    two_workers::<2>(Queueing::Shared);
}

/// One job: with two the model takes minutes, and found nothing more.
#[test]
fn two_workers_steal_until_all_is_drained() {
    two_workers::<1>(Queueing::Stealing);
}

/// A closure that is due at once, and the count of its runs.
struct AtOnce(Arc<AtomicUsize>);

impl Due for AtOnce {
    fn due(self: Arc<Self>) -> Option<Job> {
        let ran = self.0.clone();
        Some(Job::new(move || _ = ran.fetch_add(1, Ordering::Relaxed)))
    }

    fn abandon(&self) {}

    fn repeats(&self) -> bool {
        false
    }

    fn class(&self) -> Priority {
        Priority::Normal
    }
}

/// Caught: the closure no longer counted as soon as it is taken from the timers. The pool ended before its job was queued.
#[test]
fn a_pool_that_finishes_runs_a_closure_that_is_due_beside_the_end() {
    check(4, || {
        let (core, [worker]) = pool(Queueing::Shared);
        let ran = Arc::new(AtomicUsize::new(0));
        turn();
        let entry = Entry::run(Arc::new(AtOnce(ran.clone())));
        assert!(core.set_timer(Instant::now(), entry).is_ok());
        turn();
        core.close(Shutdown::Finish);
        worker.join().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 1);
    });
}
