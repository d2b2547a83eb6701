//! Queues alone, without a pool: what pushes, pops and thefts cost.
//!
//! Each pattern is a file and a type; this one reads the command line into it, so that an option
//! which a pattern doesn't have is refused rather than ignored.

mod executor;
mod injector;
mod options;
mod push_pop;
mod race;
mod steal;

pub(crate) use self::executor::Executor;
pub(crate) use self::injector::Fill;
pub(crate) use self::push_pop::PushPop;
pub(crate) use self::steal::Steal;

use std::iter;

use super::{Bench, Metric, quantile, sorted};
use crate::clock::{Lap, Meter};
use crate::fault::Fault;
use crate::supervise::Failure;
use crate::tally::{Sum, scramble};
use crate::targets::queues::{Deque, Item};

/// A pattern with its options.
#[derive(Clone, Debug)]
pub(crate) enum Queue {
    /// One thread pushes and pops.
    PushPop(PushPop),
    /// Several threads work, and steal when they are out of work.
    Executor(Executor),
    /// One thread steals from queues that nobody else touches.
    Steal(Steal),
    /// Several threads push to one injector.
    Fill(Fill),
}

/// What every pattern yields.
const METRICS: &[Metric] = &[Metric::time("time"), Metric::CPU];

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
) -> Result<Vec<f64>, Failure> {
    repetition(bench.fault)?;
    for _ in 0..counting / WARM_UP {
        repetition(Fault::None)?;
    }
    let (mut meter, lap) = (Meter::default(), Lap::begin());
    let times = (0..counting).map(|_| repetition(Fault::None));
    let times = times.collect::<Result<Vec<_>, _>>()?;
    meter.end(&lap);
    Ok(vec![quantile(&sorted(times), 0.5), meter.cpus()])
}

/// Items that are their own fingerprints.
fn items(count: usize) -> Vec<Item> {
    (0..count as u64).map(scramble).collect()
}

/// Pushes `items`, the first one as often as `fault` says. One that finds no room is lost, which the
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
