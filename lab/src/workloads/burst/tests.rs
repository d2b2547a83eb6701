//! The metrics of a burst report what happened in it.

use std::thread;
use std::time::Duration;

use super::{Burst, Workload as _, gap};
use crate::failure::Failure;
use crate::fault::Fault;
use crate::inbox::{Inbox, Value};
use crate::stats::moments;
use crate::supervise::supervise;
use crate::tally::Tally;
use crate::target::handover::Handover;
use crate::workload::Bench;

/// Pause before a value is taken.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes this many values of every even burst, and this many of every odd one, with a pause before
/// each, and returns the others.
fn picky(even: usize, odd: usize, inbox: &'static Inbox) -> Handover {
    let burst = move |values: std::vec::IntoIter<Value>, back: &mut Vec<Value>| {
        for value in values {
            let takes = if value.burst % 2 == 0 { even } else { odd };
            if value.index as usize >= takes {
                back.push(value);
                continue;
            }
            thread::sleep(PAUSE);
            inbox.receive(value);
        }
    };
    Handover::new(inbox, burst, || ())
}

/// Time after which a test that waits for a value fails.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bursts of three values.
fn three() -> Burst {
    Burst { messages: 3, receivers: 3, gap_ms: gap("0.01").unwrap(), block_ms: 0, bursts: Some(3) }
}

/// The results of a run of [`three`] on a target that takes this many values; the first burst is an
/// odd one.
fn run(even: usize, odd: usize) -> Result<Vec<f64>, Failure> {
    let tally = Tally::leak();
    supervise(tally, PATIENCE, move || {
        let (burst, bench) = (three(), Bench::new(tally, Fault::None));
        let mut target = picky(even, odd, burst.inbox(&bench));
        let values = burst.run(&mut target, &bench)?;
        tally.check(burst.expected())?;
        Ok(values)
    })
}

#[test]
fn a_run_is_as_long_as_its_gaps_allow() {
    for (gap_ms, block_ms, bursts) in
        [("0.01", 1, 495), ("9", 1, 50), ("1000", 1, 10), ("0.01", 0, 50_000)]
    {
        let gap_ms = gap(gap_ms).unwrap();
        let burst = Burst { gap_ms, block_ms, bursts: None, ..three() };
        assert_eq!(burst.params()["bursts"], bursts, "{burst:?}");
    }
}

/// The value of this metric.
fn of(values: &[f64], name: &str) -> f64 {
    values[Burst::METRICS.iter().position(|metric| metric.name == name).expect("a metric")]
}

#[test]
fn times_count_from_their_bursts_start() {
    let values = run(3, 3).expect("values");
    let pause = PAUSE.as_secs_f64();
    for (metric, pauses) in [("first", 1.0), ("p50", 2.0), ("last", 3.0), ("sender", 3.0)] {
        assert!(of(&values, metric) >= pauses * pause, "{metric}: {values:?}");
    }
    let between = of(&values, "last") - of(&values, "first");
    assert!(between >= 2.0 * pause, "{values:?}");
    assert_eq!(of(&values, "refused"), 0.0);
}

#[test]
fn returned_values_are_counted_without_a_time() {
    let values = run(1, 1).expect("values");
    assert_eq!(of(&values, "refused"), 2.0);
    assert_eq!(of(&values, "first"), of(&values, "last"), "{values:?}");
    let all: Vec<_> = ["p1", "p99", "mean"].map(|name| of(&values, name)).into();
    assert!(all.iter().all(|&time| time >= PAUSE.as_secs_f64()), "{values:?}");
}

#[test]
fn a_returned_burst_has_no_times() {
    let values = run(3, 0).expect("values");
    assert_eq!(of(&values, "refused"), 2.0);
    // Those of the one burst that was received, and no leftovers of it in the next one.
    let pause = PAUSE.as_secs_f64();
    assert!(of(&values, "p1") >= pause && of(&values, "first") >= pause, "{values:?}");
    assert!(of(&values, "last") >= 3.0 * pause, "{values:?}");
}

#[test]
fn a_wholly_returned_run_has_no_number() {
    assert!(matches!(run(0, 0), Err(Failure::Unreceived)));
}

#[test]
fn the_moments_are_of_a_sample() {
    assert_eq!(moments(&[2.0, 4.0, 6.0]), (4.0, 2.0));
    assert_eq!(moments(&[3.0]), (3.0, 0.0));
}
