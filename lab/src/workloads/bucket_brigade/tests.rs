//! The detection of lost and repeated bytes, and the parts of the line.

use std::time::Duration;

use super::line::{Ends, Trail};
use super::{BucketBrigade, Over, WARM_UP};
use crate::failure::{Failure, Outcome};
use crate::fault::Fault;
use crate::supervise::supervise;
use crate::tally::{Sum, Tally};
use crate::target::runtime::{Downstream, Runtime, Start, Upstream, VisitRuntime};
use crate::target::{Accept, Family};
use crate::targets::runtimes::Runtimes;
use crate::workload::{Bench, RuntimeWorkload as _, Workload as _};

/// Whether these bytes pass for the first `count` ones.
fn passes(bytes: impl IntoIterator<Item = u8>, count: u64) -> bool {
    let tally = Tally::leak();
    let mut trail = Trail::new(tally, 0);
    bytes.into_iter().for_each(|byte| trail.note(byte));
    tally.check(Sum::grid(count, 1)).is_ok()
}

#[test]
fn a_byte_wraps_around_any_number_of_times() {
    assert!(passes((0..2_000).map(|number| number as u8), 2_000));
    assert!(!passes((0..2_000).map(|number| number as u8), 2_001));
}

#[test]
fn a_lost_byte_does_not_offset_a_repeated_one() {
    // Around the place where eight bits begin again.
    for at in [0, 100, 255, 256, 511] {
        let without = (0..600).filter(|&number| number != at).map(|number| number as u8);
        let twice = (0..600).flat_map(|number| vec![number as u8; 1 + usize::from(number == at)]);
        assert!(!passes(without, 600) && !passes(twice, 600), "{at}");
        let both = (0..600)
            .filter(|&number| number != at)
            .flat_map(|number: u32| vec![number as u8; 1 + usize::from(number == (at + 7) % 600)]);
        assert!(!passes(both, 600), "{at}");
    }
}

/// The outcome of `run`, which is given up when nothing is counted any more.
fn ends<R: Send + 'static>(
    tally: &'static Tally,
    run: impl FnOnce() -> Result<R, Failure> + Send + 'static,
) -> Result<R, Failure> {
    supervise(tally, Duration::from_secs(5), run)
}

/// A short line with several bytes in it.
fn short(over: Over) -> BucketBrigade {
    BucketBrigade {
        over,
        tasks: 3,
        iterations: 600,
        in_flight: 5,
        threads: 2,
        warmups: 2,
        command: None,
    }
}

#[test]
fn a_fault_does_not_keep_a_run_from_ending() {
    fn on<R: Runtime>(start: Start<R>, over: Over) {
        for (fault, ran) in [(Fault::Lost, -4), (Fault::None, 0), (Fault::Repeated, 4)] {
            let (expected, tally) = (short(over).expected(), Tally::leak());
            let outcome = ends(tally, move || {
                let runtime = start(2)?;
                let values = short(over).run(&runtime, &Bench::new(tally, fault))?;
                runtime.shutdown();
                Ok(values)
            });
            assert!(outcome.is_ok(), "{fault:?}: {outcome:?}");
            assert_eq!(tally.count(), expected.tasks.saturating_add_signed(ran), "{fault:?}");
            assert_eq!(tally.check(expected).is_ok(), fault == Fault::None, "{fault:?}");
        }
    }

    struct On(Over);

    impl VisitRuntime for On {
        fn visit<R: Runtime>(self, start: Start<R>) -> Outcome {
            on(start, self.0);
            Ok(Vec::new())
        }
    }

    // All that run futures run it.
    for target in Runtimes::TARGETS.iter().filter(|target| (target.runs)("echo")) {
        assert!(Runtimes::accept(target, On(Over::Pipe)).is_ok(), "{target:?}");
        assert!(Runtimes::accept(target, On(Over::Channel)).is_ok(), "{target:?}");
    }
}

#[test]
fn the_floor_does_the_work_of_all_tasks() {
    for over in [Over::Pipe, Over::Unix, Over::Channel] {
        let (brigade, tally) = (short(over), Tally::leak());
        let floor = short(over);
        let values = ends(tally, move || floor.floor(&Bench::new(tally, Fault::None)));
        assert_eq!(values.expect("values").len(), BucketBrigade::METRICS.len());
        assert_eq!(tally.count(), (u64::from(WARM_UP) + 600) * 4);
        assert!(tally.check(brigade.expected()).is_ok());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_fault_does_not_stop_the_epoll_loop() {
    for (fault, ran) in [(Fault::Lost, -4), (Fault::None, 0), (Fault::Repeated, 4)] {
        let (expected, tally) = (short(Over::Pipe).expected(), Tally::leak());
        let values = ends(tally, move || short(Over::Pipe).epoll(&Bench::new(tally, fault)));
        assert_eq!(values.expect("values").len(), BucketBrigade::METRICS.len());
        assert_eq!(tally.count(), expected.tasks.saturating_add_signed(ran), "{fault:?}");
        assert_eq!(tally.check(expected).is_ok(), fault == Fault::None, "{fault:?}");
    }
}

#[test]
fn a_broken_line_has_no_number() {
    /// The last end of a line that is gone after some bytes.
    struct Broken(u8);

    impl Upstream for Broken {
        async fn take(&mut self) -> Option<u8> {
            self.0 += 1;
            (self.0 <= 5).then_some(self.0 - 1)
        }
    }

    /// A first end that accepts everything.
    struct Open;

    impl Downstream for Open {
        async fn pass(&mut self, _: u8) -> bool {
            true
        }
    }

    let (brigade, tally) = (short(Over::Pipe), Tally::leak());
    let bench = Bench::new(tally, Fault::None);
    let ends = Ends { first: Open, last: Broken(0), trail: Trail::new(tally, 3) };
    let failure = super::block_on(brigade.measure(ends, bench)).err();
    assert!(matches!(failure, Some(Failure::Miscounted { ran: 5, .. })), "{failure:?}");
}
