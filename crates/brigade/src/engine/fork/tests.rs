//! The looks that a fork must not escape: the rows of the table in `engine/fork/FORKS.md`. In each test the store of a fork
//! leaves the owner's store buffer at a heavy fence, and not before. The test's thread acts as all workers.

use core::cell::Cell;
use std::sync::{Arc, Barrier, OnceLock};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use brigade_sync::Stack;
use brigade_task::{Job, join};
use brigade_testkit::{Watchdog, eventually, on_wake};

use crate::engine::idle::{Parked, Watch};
use crate::engine::key::{Key, Kind};
use crate::engine::resources_of;
use crate::engine::roster::counts::Block;
use crate::engine::roster::{Parking, Roster};
use crate::engine::shared::Shared;
use crate::engine::timers::entry::{Due, Entry};
use crate::engine::wait::blocked::blocking;
use crate::engine::wake::monitor::{Seen, look};
use crate::engine::worker::{CURRENT, Child, Worker, with_worker};
use crate::values::{Config, Growth, Priority, Reason, Shutdown, Size};

/// A pool of three running workers, the first of which has forked before.
struct Crew([Worker; 3]);

/// The only worker of a pool that may have a second. The monitor watches in vain: no worker is parked.
fn watched_alone(change: impl FnOnce(&mut Config)) -> Worker {
    let shared = pool(|config| {
        config.size = Size { core: 1, max: 2, spare: 1 };
        config.growth = Growth::WhenBlocked;
        change(config);
    });
    let worker = worker(&shared);
    shared.idle.set_watch(Watch::Closely);
    worker
}

#[test]
fn the_monitor_starts_a_worker_if_none_can_wake() {
    let alone = watched_alone(|config| config.growth = Growth::OnSubmit);
    assert!(alone.submit(Job::new(|| ())).is_ok());
    assert_eq!(alone.shared.idle.snapshot().live(), 2, "for a lone child");

    let alone = watched_alone(|_| ());
    assert!(alone.shared.idle.change(|roster| roster.block(1, Block::default())));
    let at = Instant::now() + Duration::from_millis(100);
    assert!(alone.shared.set_timer(at, Entry::Wake(Waker::noop().clone())).is_ok());
    assert_eq!(alone.shared.idle.snapshot().live(), 2, "for a timer");

    let forks = watched_alone(|config| config.size.core = 2);
    let finds = worker(&forks.shared);
    join(&forks, || (), || ());
    assert!(forks.shared.idle.change(|roster| roster.block(1, Block::default())));
    forks.shared.idle.start_search();
    forks.shared.queues.late.expect();
    drop(finds.found(Job::new(|| ())));
    let live = forks.shared.idle.snapshot().live();
    assert_eq!(live, 3, "for a fork that a look has missed");
}

/// Two workers are parked. The third has queued `jobs` jobs, searches beside a second searcher, and finds a job, on
/// `cpus` CPUs. Returns how many workers are still parked then.
fn parked_after_a_find(jobs: usize, cpus: usize) -> usize {
    let crew = Crew::new();
    crew.shared().idle.set_cpus(cpus);
    (0..2).for_each(|index| crew.park(index));
    (0..2).for_each(|_| crew.shared().idle.start_search());
    let finder = &crew.0[2];
    (0..jobs).for_each(|_| assert!(finder.local.push(Job::new(|| ())).is_ok()));
    drop(finder.found(Job::new(|| ())));
    crew.shared().idle.snapshot().parked()
}

#[test]
fn a_searcher_wakes_workers_for_free_cpus() {
    assert_eq!(parked_after_a_find(1, 8), 2, "the other searcher takes it");
    assert_eq!(parked_after_a_find(2, 8), 0);
    assert_eq!(parked_after_a_find(9, 8), 0);
    // The second searcher has no worker here, so the state counts one running worker too few.
    assert_eq!(parked_after_a_find(9, 2), 1);
    assert_eq!(parked_after_a_find(9, 1), 2);
}

/// How many of three parked workers jobs from outside wake before the first of them runs.
fn woken_by_jobs_from_outside(jobs: usize, cpus: usize) -> usize {
    let crew = Crew::new();
    crew.shared().idle.set_cpus(cpus);
    (0..3).for_each(|index| crew.park(index));
    (0..jobs)
        .for_each(|_| assert!(crew.shared().inject(Priority::Normal, Job::new(|| ())).is_ok()));
    crew.shared().idle.snapshot().searching()
}

#[test]
fn a_submitter_wakes_a_worker_for_each_64_jobs() {
    let woken = [1, 64, 65, 128, 129].map(|jobs| woken_by_jobs_from_outside(jobs, 8));
    assert_eq!(woken, [1, 1, 2, 2, 3]);
    assert_eq!([1, 2].map(|cpus| woken_by_jobs_from_outside(129, cpus)), [1, 2]);
}

fn pool(change: impl FnOnce(&mut Config)) -> Arc<Shared> {
    let size = Size { core: 3, max: 3, spare: 1 };
    let mut config = Config { size, growth: Growth::WhenBlocked, ..Config::default() };
    change(&mut config);
    let key = Key::new::<Child>(Kind::default()).unwrap();
    Shared::new(key, config, None, |_, _| (), resources_of)
}

/// A worker on this thread that has not looked for work yet.
fn new_worker(shared: &Arc<Shared>) -> Worker {
    let index = shared.idle.change(Roster::pick_core).unwrap();
    shared.queues.peers.open(index, &shared.config);
    shared.idle.started(index, true);
    let role = shared.idle.arrive(index, false);
    Worker::new(shared.clone(), index, role, Stack::default())
}

/// A running worker on this thread.
fn worker(shared: &Arc<Shared>) -> Worker {
    let worker = new_worker(shared);
    shared.idle.roster().starts.remove(worker.index);
    worker
}

/// In between, a submitter would start another worker for the job that this one is about to find.
#[test]
fn a_new_worker_is_about_to_look_until_it_searches() {
    let (shared, turn) = (pool(|_| ()), Barrier::new(2));
    thread::scope(|scope| {
        let finds = scope.spawn(|| {
            let worker = new_worker(&shared);
            assert!(worker.local.push(Job::new(|| ())).is_ok());
            turn.wait();
            turn.wait();
            worker.find_first().is_some()
        });
        turn.wait();
        let roster = shared.idle.roster();
        turn.wait();
        eventually("it searches before it takes the lock", || {
            shared.idle.snapshot().searching() == 1
        });
        drop(roster);
        assert!(finds.join().unwrap());
    });
}

impl Crew {
    fn of(shared: &Arc<Shared>) -> Self {
        let crew = Self([(); 3].map(|()| worker(shared)));
        join(&crew.0[0], || (), || ());
        crew
    }

    fn new() -> Self {
        Self::of(&pool(|_| ()))
    }

    fn shared(&self) -> &Shared {
        &self.0[0].shared
    }

    /// Parks a worker.
    fn park(&self, index: usize) {
        self.shared().idle.start_search();
        let _ = self.shared().idle.announce(Parking { index, ..Parking::default() });
    }

    /// Parks the third worker, which may be woken for a fork.
    fn with_a_sleeper(self) -> Self {
        self.park(2);
        self
    }

    /// Has the monitor look at the queues.
    fn watched(self) -> Self {
        self.shared().idle.set_watch(Watch::Closely);
        self
    }

    /// Whether a look of the second worker succeeds and sees a fork that becomes visible only at a heavy fence.
    fn sees_late_fork(&self, look: impl FnOnce(&Worker) -> bool) -> bool {
        self.shared().queues.late.expect();
        look(&self.0[1]) && self.shared().queues.has_work()
    }

    /// Whether the sleeper has been picked.
    fn has_woken(&self) -> bool {
        let seen = self.shared().idle.snapshot();
        (seen.searching(), seen.parked()) == (1, 0)
    }
}

#[test]
fn the_monitor_passes_the_fence_of_a_parked_worker() {
    let crew = Crew::new().watched();
    crew.shared().idle.start_search();
    crew.shared().queues.late.expect();
    let asks = Cell::new(0);
    let mut is_over = || {
        asks.set(asks.get() + 1);
        true
    };
    assert!(matches!(crew.0[2].park_unless(None, &mut is_over), Parked::Search) && asks.get() == 1);
    let _ = crew.shared().idle.announce(Parking { index: 2, ..Parking::default() });
    let mut seen = Seen::default();
    look(crew.shared(), (Watch::Closely, Watch::Closely), &mut seen);
    assert!(!crew.has_woken(), "the fork is in its owner's store buffer");
    look(crew.shared(), (Watch::Closely, Watch::Widely), &mut seen);
    assert!(crew.has_woken());
}

#[test]
fn a_retiring_worker_passes_the_heavy_fence() {
    let crew = Crew::new().with_a_sleeper();
    crew.shared().resize((0..=3).into());
    crew.park(1);
    assert!(crew.sees_late_fork(|worker| worker.retire() && crew.has_woken()));
}

#[test]
fn the_last_successful_searcher_passes_the_heavy_fence() {
    let crew = Crew::new().with_a_sleeper();
    crew.shared().idle.start_search();
    assert!(crew.sees_late_fork(|searcher| {
        drop(searcher.found(Job::new(|| ())));
        crew.has_woken()
    }));
}

#[test]
fn the_last_searcher_after_a_wait_passes_the_heavy_fence() {
    let crew = Crew::new().with_a_sleeper();
    crew.shared().idle.start_search();
    assert!(crew.sees_late_fork(|searcher| {
        searcher.end_search();
        crew.has_woken()
    }));
}

#[test]
fn the_last_searcher_of_a_startable_pool_passes_the_heavy_fence() {
    let crew = Crew::new();
    assert!(crew.shared().idle.change(|roster| roster.block(1, Block::default())));
    crew.shared().idle.start_search();
    assert!(crew.sees_late_fork(|searcher| {
        drop(searcher.found(Job::new(|| ())));
        searcher.shared.idle.snapshot().live() == 4
    }));
}

#[test]
fn a_block_and_a_growing_resize_pass_the_heavy_fence() {
    let crew = Crew::new();
    assert!(crew.sees_late_fork(|worker| {
        let _blocked = worker.block();
        worker.shared.idle.snapshot().live() == 4
    }));
    let crew = Crew::new();
    assert!(crew.sees_late_fork(|worker| {
        worker.shared.resize(4.into());
        worker.shared.idle.snapshot().live() == 4
    }));
}

/// Or has the monitor pass it.
#[test]
fn a_guest_that_leaves_or_rests_passes_the_heavy_fence() {
    for rests in [false, true] {
        let crew = Crew::new().with_a_sleeper();
        let shared = crew.0[0].shared.clone();
        let is_woken = || eventually("the sleeper is woken", || crew.has_woken());
        assert!(shared.call_as_guest(&mut || {
            let seen = shared.idle.snapshot();
            assert!(seen.is_covered() && !seen.has_reserves_for_forks() && seen.running() == 3);
            shared.queues.late.expect();
            if rests {
                blocking(is_woken);
            }
        }));
        is_woken();
        assert!(!shared.idle.snapshot().is_covered());
    }
}

/// Two workers are parked; the second fires a due timer, as the first to wake or as it runs, whose waker makes this call
/// on the worker. Returns how many workers search and are parked at the end of the waker.
fn while_a_waker_runs(parks: bool, due: Vec<Entry>, call: fn(&Worker)) -> (usize, usize) {
    let (crew, told) = (Crew::new(), Arc::new(OnceLock::new()));
    let tells = told.clone();
    let waker = on_wake(move || {
        with_worker(|worker| {
            let worker = worker.unwrap();
            call(worker);
            let seen = worker.shared.idle.snapshot();
            _ = tells.set((seen.searching(), seen.parked()));
        });
    });
    for (entry, micros) in due.into_iter().chain([Entry::Wake(waker)]).zip(0..) {
        let at = Instant::now() - Duration::from_millis(1) + Duration::from_micros(micros);
        assert!(crew.shared().set_timer(at, entry).is_ok());
    }
    crew.park(2);
    let worker = &crew.0[1];
    CURRENT.set(worker, || {
        if parks {
            crew.park(1);
            assert!(worker.poll_as_sleeper(Some(Duration::ZERO)).is_some());
        } else {
            assert!(worker.poll_events());
        }
    });
    let searching = crew.shared().idle.snapshot().searching();
    let (during, parked) = *told.get().expect("the waker has been called");
    assert_eq!(searching, during + usize::from(parks), "it searches again afterwards");
    (during, parked)
}

/// Caught: the worker counted as a searcher until all wakers had returned, so the job woke no worker; or the job of a
/// waker called by a running worker counted as that worker's next job.
#[test]
fn a_job_during_a_waker_call_wakes_another_worker() {
    let outside: fn(&Worker) =
        |on| assert!(on.shared.inject(Priority::Normal, Job::new(|| ())).is_ok());
    let inside: fn(&Worker) = |on| assert!(on.submit(Job::new(|| ())).is_ok());
    for (parks, call) in [(true, outside), (true, inside), (false, outside), (false, inside)] {
        assert_eq!(while_a_waker_runs(parks, Vec::new(), call), (1, 0), "parks: {parks}");
    }
    for parks in [true, false] {
        assert_eq!(while_a_waker_runs(parks, Vec::new(), |_| ()), (0, 1), "parks: {parks}");
    }
}

/// A timer of a closure.
struct Closure;

impl Due for Closure {
    fn due(self: Arc<Self>) -> Job {
        Job::new(|| ())
    }

    fn abandon(&self) {}
}

/// Caught: the job waited for the end of the waker.
#[test]
fn a_job_due_before_a_waker_wakes_another_worker() {
    for parks in [true, false] {
        let due = Entry::Run { due: Arc::new(Closure), class: Priority::Normal, repeats: false };
        assert_eq!(while_a_waker_runs(parks, vec![due], |_| ()), (1, 0), "parks: {parks}");
    }
}

/// It withdraws before it queues the job, and so is the searcher that takes it.
#[test]
fn a_sleepers_due_job_wakes_no_other_worker() {
    let crew = Crew::new();
    let due = Entry::Run { due: Arc::new(Closure), class: Priority::Normal, repeats: false };
    assert!(crew.shared().set_timer(Instant::now(), due).is_ok());
    [1, 2].into_iter().for_each(|index| crew.park(index));
    let worker = &crew.0[1];
    CURRENT.set(worker, || assert!(worker.poll_as_sleeper(Some(Duration::ZERO)).is_some()));
    let seen = crew.shared().idle.snapshot();
    assert_eq!((seen.searching(), seen.parked()), (1, 1));
}

/// A worker that is alone in its pool passes no fence when it queues a job.
///
/// Caught: a resize that passed the fence only if the pool had forked. The job waited for the end of the running job.
#[test]
fn a_one_worker_resize_passes_the_heavy_fence() {
    let shared = pool(|config| config.size = Size { core: 1, max: 1, spare: 0 });
    let _alone = worker(&shared);
    shared.queues.late.expect();
    shared.resize(2.into());
    assert_eq!(shared.idle.snapshot().live(), 2);
}

/// Caught: a broadcast refused although a thread could have been started.
#[test]
fn a_broadcast_replaces_a_worker_leaving_during_it() {
    let shared = pool(|config| config.size = Size { core: 1, max: 1, spare: 0 });
    let last = worker(&shared);
    let leaves = Cell::new(true);
    let make = || {
        if leaves.take() {
            shared.resize((0..=1).into());
            shared.idle.start_search();
            let index = last.index;
            let _ = shared.idle.announce(Parking { index, ..Parking::default() });
            assert!(shared.idle.change(|roster| roster.retire(index, false)));
        }
        Job::with_handle(|| ())
    };
    assert_eq!(shared.broadcast(false, make).map_err(|_| ()).unwrap().len(), 1);
}

/// A share that was accepted after the close would be in no final report.
#[test]
fn a_broadcast_is_refused_if_the_pool_closes_during_it() {
    let shared = pool(|config| config.size = Size { core: 1, max: 1, spare: 0 });
    let _live = worker(&shared);
    let make = || {
        shared.close(Shutdown::Drain);
        Job::with_handle(|| ())
    };
    assert!(shared.broadcast(false, make).is_err_and(|reason| reason == Reason::Closed));
}

/// Caught: a broadcast that looked for a worker in an endless loop.
#[test]
fn a_broadcast_without_any_thread_is_refused() {
    let _dog = Watchdog::start(60);
    let shared = pool(|config| {
        config.hooks.spawner =
            Some(Arc::new(|_| Err(std::io::Error::other("expected: none today"))));
    });
    let refused = shared.broadcast(false, || Job::with_handle(|| ()));
    assert!(refused.is_err_and(|reason| reason == Reason::NoThread));
}
