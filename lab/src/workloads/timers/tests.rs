//! A timer that fires too early, and one that fires although it is cancelled.

use std::time::{Duration, Instant};

use super::By;
use super::fired::{Fired, Times};
use super::unfired::Unfired;
use crate::fault::Fault;
use crate::tally::Tally;
use crate::target::runtime::{Runtime, Start, VisitRuntime};
use crate::target::{Accept, Family as _};
use crate::targets::runtimes::Runtimes;
use crate::workload::{Bench, Outcome, RuntimeWorkload, Workload};

/// Runs a workload on a target, and checks the count.
struct On<W>(W);

impl<W: RuntimeWorkload> VisitRuntime for On<W> {
    fn visit<R: Runtime>(self, start: Start<R>) -> Outcome {
        let (tally, runtime) = (Tally::leak(), start(2).expect("started"));
        let values = self.0.run(&runtime, &Bench::new(tally, Fault::None))?;
        runtime.shutdown();
        tally.check(self.0.expected())?;
        Ok(values)
    }
}

/// Runs it on every target that it is for.
fn on_all<W: RuntimeWorkload>(workload: W) {
    for target in Runtimes::TARGETS.iter().filter(|target| workload.is_for(target)) {
        let outcome = Runtimes::accept(target, On(workload.clone()));
        assert_eq!(outcome.expect("values").len(), W::METRICS.len(), "{target:?}");
    }
}

#[test]
fn as_many_timers_fire_as_are_made() {
    for by in [By::Future, By::Closure] {
        on_all(Fired { times: Times::Spread { millis: 5 }, by, timers: 30, threads: 2 });
        on_all(Fired { times: Times::Instant, by, timers: 1, threads: 2 });
    }
}

#[test]
fn none_fires_that_is_cancelled() {
    for by in [By::Future, By::Closure] {
        on_all(Unfired { by, timers: 2_500, threads: 2 });
        on_all(Unfired { by, timers: 3, threads: 2 });
    }
}

#[test]
fn a_timer_before_its_time_is_seen() {
    let board = super::fired::Board::new(Tally::leak(), 2, Fault::None);
    board.fired(0, Instant::now());
    assert!(!board.is_early());
    board.fired(1, Instant::now() + Duration::from_secs(60));
    assert!(board.is_early());
}

#[test]
fn a_thread_has_no_timers() {
    let mut targets = Runtimes::TARGETS.iter();
    let threads = targets.find(|target| target.name == "threads").expect("a target");
    assert!(!Unfired { by: By::Future, timers: 1, threads: 1 }.is_for(threads));
}
