//! A worker that forks without a fence and a worker that goes to sleep never miss each other.
//!
//! The subject is the rule: the real deque and the real test of the state, but a state that only its fences order. Those of
//! [`Idle`] would hide that a heavy one is missing, as the model checker knows one kind. A fork is a unit, and its owner does not
//! take it back. So if no worker is woken for it, a worker sleeps forever, and loom reports a deadlock.

use brigade_queue::deque;
use brigade_sync::atomic::AtomicU64;

use super::*;
use crate::idle::state::{LIVE, MONITORED, PARKED, SEARCHING, Snapshot};

/// A pool reduced to a state, the deque of a worker that forks, and other work.
struct Forking {
    state: AtomicU64,
    forks: deque::Stealer<()>,
    other: AtomicUsize,
    parkers: [Parker; 2],
}

impl Forking {
    /// Of the workers in this state, one runs besides: the one that forks.
    fn new(state: u64, other: usize) -> (deque::Worker<()>, Arc<Self>) {
        let worker = deque::Worker::new();
        let forks = worker.stealer();
        let parkers = [Parker::new(), Parker::new()];
        let workers = 1 + Snapshot(state).searching() + Snapshot(state).parked();
        let (state, other) =
            (AtomicU64::new(state + workers as u64 * LIVE), AtomicUsize::new(other));
        (worker, Arc::new(Self { state, forks, other, parkers }))
    }

    fn spawn<R: 'static>(
        self: &Arc<Self>,
        main: impl FnOnce(&Self) -> R + 'static,
    ) -> JoinHandle<R> {
        let pool = self.clone();
        thread::spawn(move || main(&pool))
    }

    fn snapshot(&self) -> Snapshot {
        turn();
        Snapshot(self.state.load(Ordering::Relaxed))
    }

    fn change(&self, by: u64) -> Snapshot {
        turn();
        Snapshot(self.state.fetch_add(by, Ordering::Relaxed))
    }

    /// `Forks::push` of a worker.
    fn fork(&self, worker: &deque::Worker<()>) {
        turn();
        worker.push(());
        worker.fence();
        let seen = self.snapshot();
        if seen.wants_help_for_forks() && (worker.len() > 1 || !seen.monitored()) {
            self.wake(0);
        }
    }

    /// Makes a parked worker a searcher; `false` if it is none any more.
    fn pick(&self) -> bool {
        let mut seen = self.snapshot().0;
        while Snapshot(seen).parked() > 0 {
            let next = (seen & !MONITORED).wrapping_add(SEARCHING).wrapping_sub(PARKED);
            let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.state.compare_exchange(seen, next, set, read) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    fn wake(&self, index: usize) {
        if self.pick() {
            self.parkers[index].unpark();
        }
    }

    /// `Queues::has_work`, of forks.
    fn has_forks(&self) -> bool {
        turn();
        !self.forks.is_empty()
    }

    /// Takes a fork.
    fn steal(&self) -> bool {
        turn();
        !self.forks.is_empty() && self.forks.steal(&deque::Worker::new(), |_, _| 1).is_ok()
    }

    /// `Worker::hunt`, up to a fork; called as a searcher.
    fn hunt(&self, index: usize) {
        while !self.steal() {
            // `Worker::park`.
            self.change(PARKED.wrapping_sub(SEARCHING));
            self.forks.fence();
            if !self.has_forks() || !self.pick() {
                self.parkers[index].park(None);
            }
        }
    }

    /// `Worker::found`, after something else.
    fn found(&self) {
        self.other.fetch_sub(1, Ordering::Relaxed);
        self.end_search();
    }

    /// `Worker::end_search`.
    fn end_search(&self) {
        if self.change(SEARCHING.wrapping_neg()).searching() > 1 {
            return;
        }
        // `Worker::has_forks_unseen`.
        let seen = self.snapshot();
        if seen.parked() > 0 && !seen.monitored() {
            if seen.running() > 1 {
                self.forks.fence();
            } else {
                fence(Ordering::Acquire);
            }
            if self.has_forks() {
                self.wake(0);
            }
        }
    }

    /// `Monitor::tick`, the last.
    fn give_up(&self, index: usize) {
        turn();
        self.state.fetch_and(!MONITORED, Ordering::Relaxed);
        self.forks.fence();
        if !self.has_forks() || !self.pick() {
            self.parkers[index].park(None);
        }
    }
}

/// Caught: no fence in `fork`; none in `hunt`.
#[test]
fn a_worker_that_forks_and_a_parking_worker_never_miss_each_other() {
    check(4, || {
        let (worker, pool) = Forking::new(SEARCHING, 0);
        let parks = pool.spawn(|pool| pool.hunt(0));
        pool.fork(&worker);
        parks.join().unwrap();
    });
}

/// A worker that forks wakes no other while one searches; that one finds something else.
///
/// Caught: no fence in `end_search`; none in `fork`.
#[test]
fn a_searcher_that_finds_other_work_does_not_miss_a_fork() {
    check(4, || {
        let (worker, pool) = Forking::new(SEARCHING + PARKED, 1);
        let sleeper = pool.spawn(|pool| {
            pool.parkers[0].park(None);
            pool.hunt(0);
        });
        let searcher = pool.spawn(|pool| pool.found());
        pool.fork(&worker);
        searcher.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// The same if what that one has waited for ends.
///
/// Caught: no fence in `end_search`; none in `fork`.
#[test]
fn a_searcher_whose_wait_is_over_does_not_miss_a_fork() {
    check(4, || {
        let (worker, pool) = Forking::new(SEARCHING + PARKED, 0);
        let sleeper = pool.spawn(|pool| {
            pool.parkers[0].park(None);
            pool.hunt(0);
        });
        let searcher = pool.spawn(|pool| pool.end_search());
        pool.fork(&worker);
        searcher.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// The worker that forks begins to run only now: either the searcher sees it run, or it sees that none searches.
///
/// Caught: `end_search` without its fence if two run.
#[test]
fn a_searcher_beside_which_none_runs_does_not_miss_the_fork_of_one_that_begins_to() {
    check(4, || {
        let (worker, pool) = Forking::new(SEARCHING + PARKED, 0);
        // Parked, too.
        pool.change(PARKED);
        let sleeper = pool.spawn(|pool| {
            pool.parkers[0].park(None);
            pool.hunt(0);
        });
        let searcher = pool.spawn(|pool| pool.end_search());
        // `Idle::claim`.
        pool.change(PARKED.wrapping_neg());
        pool.fork(&worker);
        searcher.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// Caught: no fence in `give_up`; none in `fork`.
#[test]
fn a_lone_fork_and_a_monitor_that_gives_up_never_miss_each_other() {
    check(4, || {
        let (worker, pool) = Forking::new(PARKED + MONITORED, 0);
        let monitor = pool.spawn(|pool| {
            pool.give_up(0);
            pool.hunt(0);
        });
        pool.fork(&worker);
        monitor.join().unwrap();
    });
}

/// A searcher that finds something else passes no fence while a worker monitors: that one passes it when it gives up.
///
/// Caught: no fence in `give_up`.
#[test]
fn a_searcher_may_leave_a_lone_fork_to_the_monitor() {
    check(3, || {
        let (worker, pool) = Forking::new(SEARCHING + PARKED + MONITORED, 1);
        let monitor = pool.spawn(|pool| {
            pool.give_up(0);
            pool.hunt(0);
        });
        let searcher = pool.spawn(|pool| pool.found());
        pool.fork(&worker);
        searcher.join().unwrap();
        monitor.join().unwrap();
    });
}

/// The monitor is claimed to run a certain job: the thread that claims it looks in its place, as `dispatch` does.
///
/// Caught: no fence after the claim; none in `fork`.
#[test]
fn a_lone_fork_whose_monitor_is_claimed_is_not_forgotten() {
    check(3, || {
        let (worker, pool) = Forking::new(2 * PARKED + MONITORED, 0);
        let sleeper = pool.spawn(|pool| {
            pool.parkers[0].park(None);
            pool.hunt(0);
        });
        let claimer = pool.spawn(|pool| {
            // No other thread changes the state as long as it says that a worker monitors.
            pool.change((PARKED + MONITORED).wrapping_neg());
            pool.forks.fence();
            if pool.has_forks() {
                pool.wake(0);
            }
        });
        pool.fork(&worker);
        claimer.join().unwrap();
        sleeper.join().unwrap();
    });
}
