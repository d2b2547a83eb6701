//! A wait ends when nothing is queued and nothing runs, and not before.

use super::*;

/// A thread that waits for a quiet pool is woken, and not before the work is done.
///
/// Caught: no fence in `announce`.
#[test]
fn a_waiter_is_told_when_the_pool_is_quiet() {
    check(3, || {
        let pool = ModelPool::new(1, Injector::new());
        let worker = pool.spawn(|pool| pool.live(0));
        assert!(pool.inject());
        pool.wait_idle();
        assert!(pool.queue.is_empty());
        pool.close();
        assert_eq!(worker.join().unwrap(), 1);
    });
}

/// Nor while a worker that was about to park has withdrawn for a job.
///
/// Caught: `wait_idle` that does not look at the state again after it has looked at the queues.
#[test]
fn a_waiter_is_not_told_while_a_job_that_was_accepted_before_runs() {
    check(4, || {
        let pool = ModelPool::new(1, Injector::new());
        let done = Arc::new(AtomicUsize::new(0));
        // A searcher that has found nothing so far.
        pool.idle.start_search();
        let counter = done.clone();
        let worker = pool.spawn(move |pool| {
            while !pool.park(0) && pool.find(0) {
                turn();
                counter.store(1, Ordering::Relaxed);
                pool.idle.start_search();
            }
        });
        assert!(pool.inject());
        pool.wait_idle();
        assert_eq!(done.load(Ordering::Relaxed), 1);
        pool.close();
        worker.join().unwrap();
    });
}

/// Nor while the last job that runs has made another, on another queue.
///
/// Caught: `is_still` that is true with only one worker parked.
#[test]
fn a_waiter_is_not_told_while_a_job_moves_on_from_one_queue_to_the_next() {
    check(3, || {
        let queues = (AtomicUsize::new(0), AtomicUsize::new(0));
        let pool = ModelPool::new(2, queues);
        let done = Arc::new(AtomicUsize::new(0));
        // The other worker is asleep: it may be woken for the child.
        pool.idle.start_search();
        let _ = pool.idle.announce(1, false);
        // One job is queued, and its worker runs.
        pool.queue.0.store(1, Ordering::Relaxed);
        let counter = done.clone();
        let parent = pool.spawn(move |pool| {
            pool.idle.start_search();
            while pool.find(0) {
                if counter.fetch_add(1, Ordering::Relaxed) == 0 {
                    turn();
                    pool.queue.1.fetch_add(1, Ordering::Relaxed);
                    pool.published();
                }
                pool.idle.start_search();
            }
        });
        let counter = done.clone();
        let child = pool.spawn(move |pool| {
            pool.sleep(1, false);
            while !pool.idle.snapshot().terminated() && pool.find(1) {
                counter.fetch_add(1, Ordering::Relaxed);
                pool.idle.start_search();
            }
        });
        pool.wait_idle();
        assert_eq!(done.load(Ordering::Relaxed), 2);
        pool.idle.close(false);
        pool.settle();
        parent.join().unwrap();
        child.join().unwrap();
    });
}

/// A worker whose thread has not looked for work yet delays no wait.
///
/// Caught: `is_still` that counts such a worker as running: the waiter would never be woken.
#[test]
fn a_worker_that_is_being_started_is_not_waited_for() {
    check(3, || {
        let pool = ModelPool::new(1, AtomicUsize::new(0));
        pool.idle.resize(Size { core: 2, max: 2, spare: 0 });
        assert_eq!(pool.idle.pick_core(), Some(1));
        let worker = pool.spawn(|pool| {
            pool.idle.start_search();
            pool.park(0)
        });
        pool.wait_idle();
        pool.idle.fail(1, || ());
        pool.idle.close(false);
        pool.settle();
        assert!(worker.join().unwrap());
    });
}

/// Nor while a thread that is no worker does something for the pool, as a caller that participates; and it is told when that ends.
///
/// Caught: `wait_idle` that does not look again once its wait has begun; an end of such work without a look; one that is counted
/// before the work is done.
#[test]
fn a_waiter_is_told_when_work_off_the_pool_has_ended() {
    check(4, || {
        let pool = ModelPool::new(1, AtomicUsize::new(0));
        pool.idle.start_search();
        let _ = pool.idle.announce(0, false);
        // `OffPool`, with one piece of work that has begun; and what it has done.
        let work = Arc::new([AtomicUsize::new(1), AtomicUsize::new(0), AtomicUsize::new(0)]);
        /// `Core::is_empty`. All accesses are `SeqCst` there; the model checker knows only the order of such fences.
        fn is_empty([begun, ended, _]: &[AtomicUsize; 3]) -> bool {
            turn();
            fence(Ordering::SeqCst);
            let before = begun.load(Ordering::SeqCst);
            ended.load(Ordering::SeqCst) >= before
        }
        /// `Core::look_for_quiet`.
        fn look_for_quiet(pool: &ModelPool<AtomicUsize>, work: &[AtomicUsize; 3]) {
            turn();
            if pool.idle.find_quiet(|| is_empty(work)) {
                pool.notify_rest();
            }
        }
        let waits = {
            let work = work.clone();
            // `Core::wait_idle`.
            pool.spawn(move |pool| {
                turn();
                if let Wait::Since(quiets) = pool.idle.begin_wait(|| is_empty(&work)) {
                    look_for_quiet(pool, &work);
                    let mut rest = pool.rest.lock();
                    while !pool.idle.was_quiet(quiets) {
                        rest = pool.changed.wait(rest, None);
                    }
                    drop(rest);
                    pool.idle.end_wait();
                }
                assert_eq!(work[2].load(Ordering::Relaxed), 1);
            })
        };
        turn();
        work[2].store(1, Ordering::Relaxed);
        // `OffPoolWork::drop`.
        turn();
        work[1].fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        look_for_quiet(&pool, &work);
        waits.join().unwrap();
    });
}
