//! Models of the orderings on which the wake-up rule rests; `ci/loom.sh` runs them.
//!
//! The subject is the real [`Idle`]. In most models a thread publishes and then reads the state, and another thread
//! changes the state and then looks for published work: at least one thread must see the other. A relaxed atomic
//! stands for all kinds of published work, so the fences of [`Idle`] must provide all ordering. `ci/seeded.sh` checks
//! on the real engine how the threads act on their looks.

use std::sync::Arc;

use brigade_queue::deque;
use brigade_sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use brigade_sync::model::{check, turn};
use loom::thread;

use crate::engine::futures::owned_tasks::OwnedTasks;
use crate::engine::idle::{Idle, Watch};
use crate::engine::roster::counts::Block;
use crate::engine::roster::{Parking, Roster};
use crate::engine::state::{LIVE, PARKED, SEARCHING, Snapshot};
use crate::values::{Config, Shutdown, Size};

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// The state of a pool, and a queue without ordering.
struct Pool {
    idle: Idle,
    queue: AtomicUsize,
}

impl Pool {
    /// Starts no worker; the models do.
    fn of_size(core: usize, max: usize, spare: usize) -> Self {
        let config = Config { size: Size { core, max, spare }, ..Config::default() };
        Self { idle: Idle::new(&config, 2), queue: AtomicUsize::new(0) }
    }

    /// All workers run.
    fn running(workers: usize) -> Self {
        let pool = Self::of_size(workers, workers, 0);
        for index in 0..workers {
            assert_eq!(pool.idle.change(Roster::pick_core), Some(index));
            pool.idle.arrive(index, false);
            pool.idle.roster().starts.remove(index);
        }
        pool
    }

    /// The only worker searches.
    fn searching() -> Self {
        let pool = Self::running(1);
        pool.idle.start_search();
        pool
    }

    /// Two workers: the first is parked, and the second runs.
    fn with_a_sleeper() -> Self {
        let pool = Self::running(2);
        pool.idle.start_search();
        let _ = pool.idle.announce(Parking { index: 0, ..Parking::default() });
        pool
    }

    /// Like [`with_a_sleeper`](Self::with_a_sleeper), and the monitor watches.
    fn watched() -> Self {
        let pool = Self::with_a_sleeper();
        pool.idle.set_watch(Watch::Closely);
        pool
    }

    fn publish(&self) -> Snapshot {
        self.queue.store(1, Ordering::Relaxed);
        self.idle.after_publishing()
    }

    /// Submits a job; returns whether a worker is woken or started for it.
    fn wakes(&self) -> bool {
        self.publish().wants_wake()
    }

    /// A look at the queue by the worker that has changed the state.
    fn has_work(&self) -> bool {
        turn();
        self.queue.load(Ordering::Relaxed) == 1
    }
}

/// Each of two threads returns whether it has seen the other's write: at least one must have seen it.
fn one_sees_the_other(make: fn() -> Pool, one: fn(&Pool) -> bool, other: fn(&Pool) -> bool) {
    check(3, move || {
        let shared = Arc::new(make());
        let thread = thread::spawn({
            let shared = shared.clone();
            move || {
                turn();
                other(&shared)
            }
        });
        turn();
        let seen = one(&shared);
        assert!(thread.join().unwrap() || seen, "neither sees the other");
    });
}

/// Caught: no fence in `after_publishing`; none in `announce`.
#[test]
fn a_submitter_never_misses_a_parking_worker() {
    let parks = |pool: &Pool| {
        let _ = pool.idle.announce(Parking { index: 0, ..Parking::default() });
        pool.has_work()
    };
    one_sees_the_other(Pool::searching, Pool::wakes, parks);
}

/// A thread ends a wait, and then picks the waiting worker. No fence is needed, because both take the roster's lock.
///
/// Caught: a worker picked before its wait has ended.
#[test]
fn an_ending_wait_never_misses_its_parking_worker() {
    let ends = |pool: &Pool| {
        pool.queue.store(1, Ordering::Relaxed);
        pool.idle.change(|roster| roster.pick_this(0))
    };
    let parks = |pool: &Pool| {
        let _ = pool.idle.announce(Parking { index: 0, ..Parking::default() });
        pool.has_work()
    };
    one_sees_the_other(Pool::searching, ends, parks);
}

/// A submitter that sees a searcher wakes no worker.
///
/// Caught: no fence in `stop_search`; `stop_search` that never asks for a look.
#[test]
fn the_last_searcher_sees_the_submission() {
    let searching = || {
        let pool = Pool::with_a_sleeper();
        pool.idle.start_search();
        pool
    };
    let finds = |pool: &Pool| pool.idle.stop_search() && pool.has_work();
    one_sees_the_other(searching, Pool::wakes, finds);
}

/// Caught: no fence before the look.
#[test]
fn a_stopping_monitor_never_misses_a_lone_child() {
    let stops = |pool: &Pool| {
        pool.idle.set_watch(Watch::Widely);
        // As in `monitor::look`.
        fence(Ordering::SeqCst);
        pool.has_work()
    };
    one_sees_the_other(Pool::watched, |pool| !pool.publish().watched(), stops);
}

/// The thread that sets the timer sees the driver holder and wakes it, or the holder sees the timer.
///
/// Caught: no fence in `hold_driver`.
#[test]
fn a_worker_taking_the_driver_never_misses_a_timer() {
    let takes = |pool: &Pool| {
        assert!(pool.idle.change(|roster| roster.hold_driver(0)));
        pool.has_work()
    };
    one_sees_the_other(Pool::with_a_sleeper, |pool| pool.publish().driver_held(), takes);
}

/// Caught: no fence in `retire`.
#[test]
fn a_leaving_driver_holder_never_misses_a_timer() {
    let elastic = || {
        let pool = Pool::of_size(1, 2, 0);
        for index in 0..2 {
            assert_eq!(pool.idle.change(|roster| roster.pick_another(true)).start, Some(index));
            pool.idle.arrive(index, false);
        }
        pool.idle.start_search();
        assert!(
            pool.idle
                .announce(Parking {
                    index: 0,
                    holder_wanted: true,
                    is_called: true,
                    ..Parking::default()
                })
                .holds_driver
        );
        pool
    };
    let leaves = |pool: &Pool| {
        assert!(pool.idle.change(|roster| roster.retire(0, false)));
        pool.has_work()
    };
    one_sees_the_other(elastic, |pool| !pool.publish().driver_held(), leaves);
}

/// Caught: no fence in `fail`.
#[test]
fn a_submitter_never_misses_a_failing_start() {
    let starting = || {
        let pool = Pool::of_size(1, 1, 0);
        assert_eq!(pool.idle.change(Roster::pick_core), Some(0));
        pool
    };
    let fails = |pool: &Pool| {
        pool.idle.fail(0, || ());
        pool.has_work()
    };
    one_sees_the_other(starting, Pool::wakes, fails);
}

/// Caught: no fence in `block`.
#[test]
fn a_submitter_never_misses_a_blocking_worker() {
    let replaceable = || {
        let pool = Pool::of_size(1, 1, 1);
        assert_eq!(pool.idle.change(Roster::pick_core), Some(0));
        pool.idle.arrive(0, false);
        pool
    };
    let blocks = |pool: &Pool| {
        assert!(pool.idle.change(|roster| roster.block(1, Block::default())));
        pool.has_work()
    };
    one_sees_the_other(replaceable, Pool::wakes, blocks);
}

/// The last searcher passes the heavy fence only if another worker runs. A worker that sees a searcher announces no
/// fork.
///
/// The state here orders nothing: the fences of [`Idle`] would hide a missing heavy fence, because the model checker
/// knows a single kind. The fork and the heavy fence are those of the real deque.
fn a_fork_beside_the_last_searcher(
    parked: u64,
    forks: fn(&AtomicU64, &deque::Worker<()>) -> Snapshot,
) {
    check(4, move || {
        let worker = deque::Worker::new();
        let shared =
            Arc::new((AtomicU64::new(SEARCHING + parked * PARKED + 3 * LIVE), worker.stealer()));
        let searcher = thread::spawn({
            let shared = shared.clone();
            move || {
                let (state, forks) = &*shared;
                turn();
                state.fetch_sub(SEARCHING, Ordering::Relaxed);
                // `Shared::fence_forks`, called by a running worker.
                turn();
                if Snapshot(state.load(Ordering::Relaxed)).running() > 1 {
                    forks.fence();
                } else {
                    fence(Ordering::Acquire);
                }
                turn();
                !forks.is_empty()
            }
        });
        turn();
        let seen = forks(&shared.0, &worker);
        assert!(searcher.join().unwrap() || seen.wants_wake_for_forks(), "neither sees the other");
    });
}

/// Caught: no fence if two workers run.
#[test]
fn the_last_searcher_sees_a_starting_workers_fork() {
    a_fork_beside_the_last_searcher(2, |state, worker| {
        state.fetch_sub(PARKED, Ordering::Relaxed);
        turn();
        worker.push(());
        turn();
        Snapshot(state.load(Ordering::Relaxed))
    });
}

/// Caught: no fence if no other worker runs.
#[test]
fn the_last_searcher_sees_a_stopping_workers_fork() {
    a_fork_beside_the_last_searcher(1, |state, worker| {
        worker.push(());
        turn();
        let seen = Snapshot(state.load(Ordering::Relaxed));
        turn();
        // Ordering: Release, because `Idle` uses `SeqCst`.
        state.fetch_add(PARKED, Ordering::Release);
        seen
    });
}

/// Caught: `finishes` without its fence; `close` by a Relaxed change of the state. No x86 shows either.
#[test]
fn a_thread_seeing_the_close_sees_the_finish() {
    check(3, || {
        let shared = Arc::new((Pool::running(1).idle, OwnedTasks::new()));
        let closer = thread::spawn({
            let shared = shared.clone();
            move || {
                turn();
                shared.1.set_finishes(true);
                shared.0.close(Shutdown::Finish);
            }
        });
        turn();
        assert!(!shared.0.snapshot().closed() || shared.1.finishes());
        closer.join().unwrap();
    });
}
