//! A timer that fires too early, and one that fires although it is cancelled.

use std::time::{Duration, Instant};

use super::{Board, By, Pattern, Timers};
use crate::fault::Fault;
use crate::tally::Tally;
use crate::target::runtime::{Runtime, Start, VisitRuntime};
use crate::target::{Accept, Family as _};
use crate::targets::runtimes::Runtimes;
use crate::workload::{Bench, Outcome, RuntimeWorkload as _, Workload as _};

/// Runs timers on a target, and checks the count.
struct On(Timers);

impl VisitRuntime for On {
    fn visit<R: Runtime>(self, start: Start<R>) -> Outcome {
        let (tally, runtime) = (Tally::leak(), start(2).expect("started"));
        let values = self.0.run(&runtime, &Bench::new(tally, Fault::None))?;
        runtime.shutdown();
        tally.check(self.0.expected())?;
        Ok(values)
    }
}

/// So many timers.
fn some(pattern: Pattern, by: By, timers: u64) -> Timers {
    let millis = (pattern == Pattern::Spread).then_some(5);
    Timers { pattern, millis, by, timers, threads: 2 }
}

/// Runs these on every target that they are for, by tasks and by closures.
fn on_all(pattern: Pattern, timers: u64) {
    for by in [By::Future, By::Closure] {
        let timers = some(pattern, by, timers);
        for target in Runtimes::TARGETS.iter().filter(|target| (target.runs)("timers")) {
            let outcome = Runtimes::accept(target, On(timers.clone()));
            assert_eq!(outcome.expect("values").len(), timers.metrics().len(), "{target:?}");
        }
    }
}

#[test]
fn as_many_timers_fire_as_are_made() {
    on_all(Pattern::Spread, 30);
    on_all(Pattern::Instant, 1);
}

#[test]
fn no_cancelled_timer_fires() {
    on_all(Pattern::Unfired, 2_500);
    on_all(Pattern::Unfired, 3);
}

#[test]
fn a_timer_before_its_time_is_seen() {
    let board = Board::new(Tally::leak(), 2, Fault::None);
    board.fired(0, Instant::now());
    assert!(!board.is_early());
    board.fired(1, Instant::now() + Duration::from_secs(60));
    assert!(board.is_early());
}

#[test]
fn a_thread_has_no_timers() {
    let mut targets = Runtimes::TARGETS.iter();
    let threads = targets.find(|target| target.name == "threads").expect("a target");
    assert!(!(threads.runs)("timers"));
}
