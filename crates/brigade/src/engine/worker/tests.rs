//! The looks that a fork must not escape, each beside a fork whose store leaves the store buffer of its owner at a heavy fence and
//! not before: the rows of the table in `engine/FORKS.md`. The test's thread is all of the workers.

use core::cell::Cell;
use std::sync::Arc;

use brigade_task::{Job, join};

use super::monitor::{Monitor, Tick, give_up};
use super::{Child, Worker};
use crate::config::{Config, Growth, Size};
use crate::engine::{Core, resources_of};
use crate::idle::{Duty, Parked};
use crate::key::Key;

/// A pool of three, the first of which runs and has forked before.
struct Crew([Worker; 3]);

fn pool(change: impl FnOnce(&mut Config)) -> Arc<Core> {
    let size = Size { core: 3, max: 3, spare: 1 };
    let mut config = Config { size, growth: Growth::WhenBlocked, ..Config::default() };
    change(&mut config);
    let key = Key::new::<Child>(false, false).unwrap();
    Core::new(key, config, None, |_, _| (), resources_of)
}

/// A worker of this thread, which runs.
fn worker(core: &Arc<Core>) -> Worker {
    let index = core.idle.pick_core().unwrap();
    core.queues.peers.open(index, &core.config);
    core.idle.started(index);
    core.idle.arrive(index);
    core.idle.begin(index);
    Worker::at(core.clone(), index)
}

impl Crew {
    fn of(core: &Arc<Core>) -> Self {
        let crew = Self([(); 3].map(|()| worker(core)));
        join(&crew.0[0], || (), || ());
        crew
    }

    fn new() -> Self {
        Self::of(&pool(|_| ()))
    }

    fn core(&self) -> &Core {
        &self.0[0].core
    }

    /// Parks a worker; returns its duty.
    fn park(&self, index: usize) -> Option<Duty> {
        self.core().idle.start_search();
        self.core().idle.announce(index, false).duty
    }

    /// Parks the third worker without a duty, so that it may be woken for a fork.
    fn with_a_sleeper(self) -> Self {
        assert_eq!(self.park(2), Some(Duty::Monitor));
        self.core().idle.give_up_duty(2);
        self
    }

    /// Parks the second worker as the monitor.
    fn with_a_monitor(self) -> Self {
        assert_eq!(self.park(1), Some(Duty::Monitor));
        self
    }

    /// Whether a look of the second worker does what it says for a fork that is there after a heavy fence only.
    fn sees_late_fork(&self, look: impl FnOnce(&Worker) -> bool) -> bool {
        self.core().queues.late.expect();
        look(&self.0[1]) && self.core().queues.has_work()
    }

    /// Whether the sleeper has been picked.
    fn has_woken(&self) -> bool {
        let seen = self.core().idle.snapshot();
        (seen.searching(), seen.parked()) == (1, 0)
    }
}

#[test]
fn a_worker_that_parks_without_a_duty_passes_the_heavy_fence() {
    let crew = Crew::new().with_a_monitor();
    crew.core().idle.start_search();
    let asks = Cell::new(false);
    assert!(crew.sees_late_fork(|_| {
        let is_over = || {
            asks.set(true);
            true
        };
        matches!(crew.0[2].park_unless(is_over), Parked::Search) && !asks.get()
    }));
}

#[test]
fn a_monitor_that_gives_up_passes_the_heavy_fence() {
    let crew = Crew::new().with_a_monitor();
    assert!(crew.sees_late_fork(|monitor| matches!(give_up(monitor), Tick::Work)));
}

#[test]
fn a_monitor_that_becomes_the_standby_passes_the_heavy_fence() {
    let crew = Crew::new().with_a_monitor();
    assert!(crew.sees_late_fork(|monitor| {
        let tick = Monitor::begin(monitor).stand_by(monitor, true);
        matches!(tick, Tick::Work) && monitor.core.idle.snapshot().stood_by()
    }));
}

#[test]
fn a_monitor_that_retires_passes_the_heavy_fence() {
    let crew = Crew::of(&pool(|config| config.core_timeout = true)).with_a_sleeper();
    let crew = crew.with_a_monitor();
    assert!(crew.sees_late_fork(|monitor| monitor.retire() && crew.has_woken()));
}

#[test]
fn the_last_searcher_that_finds_a_job_passes_the_heavy_fence() {
    let crew = Crew::new().with_a_sleeper();
    crew.core().idle.start_search();
    assert!(crew.sees_late_fork(|searcher| {
        drop(searcher.found(Job::new(|| ())));
        crew.has_woken()
    }));
}

#[test]
fn the_last_searcher_whose_wait_is_over_passes_the_heavy_fence() {
    let crew = Crew::new().with_a_sleeper();
    crew.core().idle.start_search();
    assert!(crew.sees_late_fork(|searcher| {
        searcher.end_search();
        crew.has_woken()
    }));
}

#[test]
fn the_last_searcher_passes_the_heavy_fence_if_none_is_parked_and_one_may_be_started() {
    let crew = Crew::new();
    crew.core().idle.block(false);
    crew.core().idle.start_search();
    assert!(crew.sees_late_fork(|searcher| {
        drop(searcher.found(Job::new(|| ())));
        searcher.core.idle.snapshot().live() == 4
    }));
}

#[test]
fn a_block_and_a_resize_after_which_a_worker_may_be_started_pass_the_heavy_fence() {
    let crew = Crew::new();
    assert!(crew.sees_late_fork(|worker| {
        let _blocked = worker.block();
        worker.core.idle.snapshot().live() == 4
    }));
    let crew = Crew::new();
    assert!(crew.sees_late_fork(|worker| {
        worker.core.resize(4.into());
        worker.core.idle.snapshot().live() == 4
    }));
}
