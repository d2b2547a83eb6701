//! Workers that doze, in the middle of a job that waits. `engine/FORKS.md` has the protocol.

use super::*;

/// A pool of which a worker waits for something else than a job.
struct Dozing {
    pool: Arc<ModelPool<AtomicUsize>>,
    /// Whether the wait is over. It orders nothing: the crew's lock must.
    over: AtomicUsize,
}

impl Dozing {
    /// All workers run, the first of them the job that waits.
    fn new(workers: usize) -> Arc<Self> {
        let pool = ModelPool::new(workers, AtomicUsize::new(0));
        Arc::new(Self { pool, over: AtomicUsize::new(0) })
    }

    fn spawn<R: 'static>(
        self: &Arc<Self>,
        main: impl FnOnce(&Self) -> R + 'static,
    ) -> JoinHandle<R> {
        let this = self.clone();
        thread::spawn(move || main(&this))
    }

    fn is_over(&self) -> bool {
        turn();
        self.over.load(Ordering::Relaxed) == 1
    }

    /// `Latch::set`, and `Call::wake` for a worker.
    fn end(&self, index: usize) {
        turn();
        self.over.store(1, Ordering::Relaxed);
        if self.pool.idle.pick_this(index) {
            self.pool.parkers[index].unpark();
        }
    }

    /// A thread outside submits a job.
    fn submit(&self) {
        turn();
        self.pool.queue.fetch_add(1, Ordering::Relaxed);
        self.pool.published();
    }

    /// `Worker::help_until_over`, of a worker that finds nothing at first; returns how many jobs it ran.
    fn wait(&self, index: usize) -> usize {
        let mut ran = 0;
        while !self.is_over() {
            ran += usize::from(self.doze(index));
        }
        ran
    }

    /// `Worker::doze`; whether it ran a job.
    fn doze(&self, index: usize) -> bool {
        self.pool.idle.start_search();
        loop {
            if self.is_over() {
                self.end_search();
                return false;
            }
            if self.pool.queue.take() {
                self.pool.found();
                return true;
            }
            self.park_in_job(index);
        }
    }

    /// `Worker::end_search`.
    fn end_search(&self) {
        self.pool.found();
    }

    /// `Worker::park_in_job`.
    fn park_in_job(&self, index: usize) {
        let ModelPool { idle, queue, parkers, .. } = &*self.pool;
        turn();
        idle.announce_doze(index);
        if queue.has_work() || self.is_over() {
            self.pool.withdraw(index);
        } else {
            parkers[index].park(None);
        }
        idle.end_doze();
    }
}

/// Caught: `park_in_job` that does not look whether the wait is over; `end` that looks for the worker before it stores.
#[test]
fn a_worker_that_dozes_and_the_end_of_its_wait_never_miss_each_other() {
    check(4, || {
        let dozing = Dozing::new(1);
        let worker = dozing.spawn(|dozing| dozing.wait(0));
        dozing.end(0);
        assert_eq!(worker.join().unwrap(), 0);
    });
}

/// The wait is over only once the worker has run a job.
///
/// Caught: no fence in `announce_doze`.
#[test]
fn a_submitter_and_a_worker_that_dozes_never_miss_each_other() {
    check(4, || {
        let dozing = Dozing::new(1);
        let worker = dozing.spawn(|dozing| while !dozing.doze(0) {});
        dozing.submit();
        worker.join().unwrap();
    });
}

/// A submitter that sees the worker search wakes no other, and the worker goes on with its job.
///
/// Caught: `end_search` that does not look for work; no fence in `stop_search`.
#[test]
fn a_worker_whose_wait_is_over_leaves_work_to_another() {
    check(3, || {
        let dozing = Dozing::new(2);
        dozing.pool.is_asleep(1, false);
        let sleeper = dozing.spawn(|dozing| {
            dozing.pool.parkers[1].park(None);
            dozing.pool.find(1)
        });
        dozing.pool.idle.start_search();
        let worker = dozing.spawn(Dozing::end_search);
        dozing.submit();
        worker.join().unwrap();
        assert!(sleeper.join().unwrap());
    });
}

/// The end of a wait, and a submitter, pick the worker once: no token is left for a later sleep, and the counts are right.
///
/// Caught: `end` that wakes a worker without having picked it.
#[test]
fn a_worker_that_dozes_is_picked_once() {
    check(3, || {
        let dozing = Dozing::new(1);
        let worker = dozing.spawn(|dozing| {
            let ran = dozing.wait(0);
            if ran == 0 {
                dozing.pool.idle.start_search();
                assert!(dozing.pool.find(0));
            }
        });
        let ends = dozing.spawn(|dozing| dozing.end(0));
        dozing.submit();
        ends.join().unwrap();
        worker.join().unwrap();
        let seen = dozing.pool.idle.snapshot();
        assert_eq!((seen.searching(), seen.parked(), seen.running()), (0, 0, 1));
        assert!(!dozing.pool.parkers[0].park(Some(Duration::ZERO)), "a token is left");
    });
}

/// All workers are parked, but one of them is in the middle of a job.
///
/// Caught: `terminate` that does not ask for workers that doze; `end_doze` before the worker is woken.
#[test]
fn a_pool_does_not_end_while_a_worker_dozes() {
    check(3, || {
        let dozing = Dozing::new(1);
        let worker = dozing.spawn(|dozing| {
            dozing.wait(0);
            let seen = dozing.pool.idle.snapshot();
            assert!(!seen.terminated() && seen.running() == 1);
            dozing.pool.live(0)
        });
        let closes = dozing.spawn(|dozing| {
            turn();
            dozing.pool.idle.close(false);
            dozing.pool.settle();
        });
        dozing.end(0);
        closes.join().unwrap();
        assert_eq!(worker.join().unwrap(), 0);
        assert_eq!(*dozing.pool.terminations.lock(), 1);
    });
}

/// Caught: `is_still` that does not ask for workers that doze.
#[test]
fn a_pool_is_not_idle_while_a_worker_dozes() {
    check(3, || {
        let dozing = Dozing::new(1);
        let worker = dozing.spawn(|dozing| {
            dozing.wait(0);
            // Ordered by the crew's lock, as the worker parks after it.
            let ended = dozing.over.fetch_add(1, Ordering::Relaxed);
            dozing.pool.idle.start_search();
            (ended, dozing.pool.find(0))
        });
        let waits = dozing.spawn(|dozing| {
            dozing.pool.wait_idle();
            assert_eq!(dozing.over.load(Ordering::Relaxed), 2, "the job has not ended");
            dozing.submit();
        });
        dozing.end(0);
        waits.join().unwrap();
        assert_eq!(worker.join().unwrap(), (1, true));
    });
}
