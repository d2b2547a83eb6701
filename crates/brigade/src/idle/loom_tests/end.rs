//! A pool ends once, and with nothing queued.

use super::*;

/// A pool is terminated once, by the last worker that parks or by the closer, and with nothing queued.
///
/// Caught: `terminate` that does not look whether all are parked; no fence in `announce`.
#[test]
fn a_closed_pool_runs_what_it_accepted_and_ends_once() {
    check(3, || {
        let pool = ModelPool::new(1, Injector::new());
        let worker = pool.spawn(|pool| pool.live(0));
        assert!(pool.inject());
        pool.close();
        assert!(!pool.inject());
        assert_eq!(worker.join().unwrap(), 1);
        assert_eq!(*pool.terminations.lock(), 1);
        assert!(pool.queue.is_empty());
    });
}

/// The same with two workers, of which either may be the last.
///
/// Caught: `terminate` that does not look whether all are parked.
#[test]
fn a_closed_pool_of_two_ends_once() {
    check(2, || {
        let pool = ModelPool::new(2, Injector::new());
        let workers = [0, 1].map(|index| pool.spawn(move |pool| pool.live(index)));
        assert!(pool.inject());
        pool.close();
        assert_eq!(workers.map(|worker| worker.join().unwrap()).iter().sum::<usize>(), 1);
        assert_eq!(*pool.terminations.lock(), 1);
        assert!(pool.queue.is_empty());
    });
}

/// A submitter beside the closer: every job that was accepted is run.
///
/// Caught: `settle` looking for work before it looks whether the pool is closed: a job accepted
/// between the two was never run.
#[test]
fn a_job_accepted_beside_a_close_is_run() {
    check(3, || {
        let pool = ModelPool::new(1, Injector::new());
        let worker = pool.spawn(|pool| pool.live(0));
        let submitter = pool.spawn(ModelPool::inject);
        pool.close();
        let accepted = submitter.join().unwrap();
        assert_eq!(worker.join().unwrap(), usize::from(accepted));
        assert_eq!(*pool.terminations.lock(), 1);
    });
}

/// A worker may be picked for something other than a job, such as an I/O resource that is made while the pool ends. Then it is
/// picked before the end or not at all: the last worker that leaves looks at the queues only when all count as parked.
///
/// Caught: `pop_parked` that does not look whether the pool has ended.
#[test]
fn a_worker_is_picked_before_the_end_or_not_at_all() {
    check(3, || {
        let pool = ModelPool::new(1, AtomicUsize::new(0));
        pool.idle.start_search();
        let _ = pool.idle.announce(0, false);
        pool.idle.close(false);
        let picker = pool.spawn(|pool| pool.idle.pick(1, false).wake.is_some());
        let ends = pool.idle.terminate(|| false);
        let picked = picker.join().unwrap();
        assert!(ends != picked, "nothing else keeps the pool from ending");
        assert_eq!(pool.idle.snapshot().all_parked(), ends);
    });
}
