//! A crew that grows and shrinks.

use super::*;
use crate::idle::Hold;

impl<Q: Source> ModelPool<Q> {
    /// A crew that has no worker and may have this many.
    fn elastic(core: usize, max: usize, queue: Q) -> Arc<Self> {
        let idle = super::idle(core, max, 1);
        let parkers = (0..max + 1).map(|_| Parker::new()).collect();
        Arc::new(Self {
            idle,
            queue,
            parkers,
            terminations: Mutex::new(0),
            rest: Mutex::new(()),
            changed: Condvar::new(),
        })
    }

    /// Starts a worker before the model begins.
    fn has_started(&self, index: usize) {
        assert_eq!(self.idle.pick(usize::MAX, true).start, Some(index));
        self.idle.arrive(index);
    }

    /// `Core::help`: the worker that must be started, if any; the model must start its thread.
    #[must_use]
    fn help(&self) -> Option<usize> {
        turn();
        let help = self.idle.pick(usize::MAX, true);
        if let Some(index) = help.wake {
            self.parkers[index].unpark();
        }
        help.start
    }

    /// `Core::inject`, after the push.
    #[must_use]
    fn published_elastic(&self) -> Option<usize> {
        if self.idle.after_publishing().wants_help() { self.help() } else { None }
    }

    /// `Worker::sleep` with a keep-alive of zero, and `Worker::retire`: `None` if it has been woken, or else whether it left,
    /// and which worker it then picked for help.
    fn retire(&self, index: usize) -> Option<Option<usize>> {
        turn();
        if !self.idle.retire(index, Leave::IdleCore, false) {
            self.parkers[index].park(None);
            return None;
        }
        turn();
        Some(if self.queue.has_work() { self.help() } else { None })
    }
}

/// A worker that leaves, and a submitter: whichever sees the other, there is a worker to run the job.
///
/// Caught: no fence in `after_publishing`.
#[test]
fn a_job_beside_a_worker_that_leaves_is_not_stranded() {
    check(3, || {
        let pool = ModelPool::elastic(0, 1, AtomicUsize::new(0));
        pool.has_started(0);
        pool.idle.start_search();
        let worker = pool.spawn(|pool| {
            turn();
            pool.idle.announce(0, false);
            if pool.queue.has_work() {
                pool.withdraw(0);
                return (true, None);
            }
            match pool.retire(0) {
                None => (true, None),
                Some(start) => (false, start),
            }
        });
        turn();
        pool.queue.fetch_add(1, Ordering::Relaxed);
        let started = pool.published_elastic();
        let (stays, asked) = worker.join().unwrap();
        let comes =
            usize::from(stays) + usize::from(started.is_some()) + usize::from(asked.is_some());
        assert!(comes >= 1, "no worker comes for the job");
        assert!(pool.idle.snapshot().live() <= 1);
    });
}

/// Of two submitters to a crew of at most one worker, one starts it.
///
/// Caught: `pick` that goes by the bits of the state instead of the counts.
#[test]
fn of_two_submitters_one_starts_the_only_worker() {
    check(3, || {
        let pool = ModelPool::elastic(0, 1, AtomicUsize::new(0));
        let submit = |pool: &ModelPool<AtomicUsize>| {
            turn();
            pool.queue.fetch_add(1, Ordering::Relaxed);
            pool.published_elastic()
        };
        let other = pool.spawn(submit);
        let here = submit(&pool);
        let there = other.join().unwrap();
        assert_eq!(usize::from(here.is_some()) + usize::from(there.is_some()), 1);
        assert_eq!(pool.idle.snapshot().live(), 1);
    });
}

/// A worker blocks with a queued job for which it has woken no other, while the only other one parks: some worker runs the job.
///
/// Caught: `block` of a worker that does not look for work afterwards.
#[test]
fn a_job_behind_a_blocked_worker_is_not_stranded() {
    check(3, || {
        let pool = ModelPool::elastic(2, 2, AtomicUsize::new(0));
        pool.has_started(0);
        pool.has_started(1);
        pool.idle.start_search();
        let parking = pool.spawn(|pool| {
            turn();
            pool.idle.announce(1, false);
            if !pool.queue.has_work() {
                return pool.parkers[1].park(None);
            }
            pool.withdraw(1);
            true
        });
        turn();
        pool.queue.fetch_add(1, Ordering::Relaxed);
        // `Worker::block`.
        pool.idle.block(false);
        let started = if pool.queue.has_work() { pool.help() } else { None };
        if let Some(index) = started {
            // It replaces the blocked worker and finds the job; the other one continues to sleep.
            assert_eq!((index, pool.idle.snapshot().live()), (2, 3));
            pool.parkers[1].unpark();
        }
        assert!(parking.join().unwrap());
        pool.idle.unblock(false);
    });
}

/// A pool that ends beside a submitter that would start a worker: either it is started before the end, or never.
///
/// Caught: `terminate` that does not end the picking.
#[test]
fn nobody_is_started_after_the_end() {
    check(3, || {
        let pool = ModelPool::elastic(0, 1, AtomicUsize::new(0));
        let other = pool.spawn(|pool| {
            turn();
            pool.published_elastic()
        });
        turn();
        pool.idle.close(false);
        let ended = pool.idle.terminate(|| false);
        let started = other.join().unwrap();
        assert_ne!(ended, started.is_some(), "ended over a worker, or neither");
    });
}

/// A submitter to a pool that may have no worker, and the only worker, which leaves. It must not leave until the job is
/// published, or the submitter must start another before that.
///
/// Caught: `can_spare` that does not look whether a submitter relies on the worker.
#[test]
fn a_job_is_published_to_a_pool_that_has_a_worker() {
    check(3, || {
        let pool = ModelPool::elastic(0, 1, AtomicUsize::new(0));
        pool.has_started(0);
        pool.idle.start_search();
        let worker = pool.spawn(|pool| {
            pool.idle.announce(0, false);
            if pool.queue.has_work() {
                pool.withdraw(0);
                return true;
            }
            turn();
            pool.idle.retire(0, Leave::IdleCore, false)
        });
        turn();
        let started = match pool.idle.hold() {
            Hold::Held => false,
            Hold::Start(index) => {
                pool.idle.arrive(index);
                true
            }
            Hold::None => panic!("no worker is being started"),
        };
        turn();
        assert_eq!(pool.idle.snapshot().live(), 1, "started: {started}");
        pool.queue.fetch_add(1, Ordering::Relaxed);
        let more = pool.published_elastic();
        assert_eq!(more, None, "there is one, and no room for another");
        pool.idle.release();
        worker.join().unwrap();
    });
}

/// A submitter wakes no worker because one searches, in a pool that may grow. The searcher finds the first of two jobs, and has
/// another worker started for the second.
///
/// Caught: `stop_search` that asks for a look only if a worker is parked.
#[test]
fn the_last_searcher_that_finds_work_has_another_worker_started() {
    check(3, || {
        let pool = ModelPool::elastic(1, 2, AtomicUsize::new(1));
        pool.has_started(0);
        pool.idle.start_search();
        let searcher = pool.spawn(|pool| {
            turn();
            assert!(pool.queue.take(), "the first job has been there from the beginning");
            turn();
            if pool.idle.stop_search() && pool.queue.has_work() { pool.help() } else { None }
        });
        turn();
        pool.queue.fetch_add(1, Ordering::Relaxed);
        let here = pool.published_elastic();
        let there = searcher.join().unwrap();
        assert_eq!(usize::from(here.is_some()) + usize::from(there.is_some()), 1);
    });
}

/// A worker that blocks, and a submitter: at least one of them gets a worker for the job.
///
/// Caught: no fence in `block`.
#[test]
fn whoever_blocks_or_whoever_submits_sees_the_other() {
    check(3, || {
        let idle = super::idle(1, 1, 1);
        assert_eq!(idle.pick_core(), Some(0));
        idle.arrive(0);
        let pool = Arc::new(ModelPool {
            idle,
            queue: AtomicUsize::new(0),
            parkers: vec![Parker::new()],
            terminations: Mutex::new(0),
            rest: Mutex::new(()),
            changed: Condvar::new(),
        });
        // `Worker::block`.
        let blocker = pool.spawn(|pool| {
            turn();
            pool.idle.block(false);
            pool.queue.has_work()
        });
        turn();
        pool.queue.fetch_add(1, Ordering::Relaxed);
        let submitter_helps = pool.idle.after_publishing().wants_help();
        assert!(blocker.join().unwrap() || submitter_helps, "neither helps");
    });
}
