//! Queues alone, without a pool: the price of pushes, pops and steals.
//!
//! Each pattern is a file and a type; `options` reads the command line into one of them.

pub(crate) mod executor;
pub(crate) mod injector;
pub(crate) mod options;
pub(crate) mod push_pop;
mod race;
pub(crate) mod steal;

use std::iter;

use crate::tally::scramble;
use crate::target::queue::{Deque, Item};
use crate::workloads::prelude::*;

/// The metrics of every pattern.
const METRICS: &[Metric] = metrics! {
    less "s": "time";
};

/// One repetition in this many warms up, besides the first.
const WARM_UP: u64 = 10;

/// Repetitions of a run, of which this many count.
fn total(counting: u64) -> u64 {
    1 + counting / WARM_UP + counting
}

/// Lets `repetition` run until this many count; yields the median of the times it returns, in
/// seconds, and the CPUs that were busy, which includes what it doesn't time.
///
/// The fault befalls the first repetition, which only warms up: what is timed is the same for all.
fn repeat(
    counting: u64,
    bench: &Bench,
    mut repetition: impl FnMut(Fault) -> Result<f64, Failure>,
) -> Outcome {
    repetition(bench.fault)?;
    for _ in 0..counting / WARM_UP {
        repetition(Fault::None)?;
    }
    let (mut meter, lap) = (Meter::default(), Lap::begin());
    let times = (0..counting).map(|_| repetition(Fault::None));
    let times = times.collect::<Result<Vec<_>, _>>()?;
    meter.end(&lap);
    Ok(vec![median(times), meter.cpus()])
}

/// Items that are their own fingerprints.
fn items(count: usize) -> Vec<Item> {
    (0..count as u64).map(scramble).collect()
}

/// Pushes `items`, the first one as often as `fault` says. An item without room is lost, which the
/// tally reports.
fn fill<D: Deque>(deque: &D, items: &[Item], fault: Fault) {
    for (index, &item) in items.iter().enumerate() {
        for _ in 0..fault.copies(index as u32) {
            let _ = deque.push(item);
        }
    }
}

/// Pops all there is.
fn drain<D: Deque>(deque: &D) -> Sum {
    iter::from_fn(|| deque.pop()).collect()
}
