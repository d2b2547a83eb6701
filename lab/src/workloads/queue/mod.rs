//! Queues alone, without a pool: the price of pushes, pops and steals.
//!
//! Each pattern is a file and a type.

pub(crate) mod executor;
pub(crate) mod injector;
pub(crate) mod push_pop;
mod race;
pub(crate) mod steal;

use std::iter;

use self::executor::Executor;
use self::injector::Fill;
use self::push_pop::PushPop;
use self::steal::Steal;

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

/// The pattern of operations on the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pattern {
    /// One thread pushes 64 items, and pops them: time per 64 of both.
    PushPopSmall,
    /// One thread pushes 256 items, and pops them: time per 256 of both.
    PushPopLarge,
    /// Threads run tasks that push themselves again, and steal when they have none: time until all
    /// are done.
    Executor,
    /// A thread steals a batch at a time: time per item stolen.
    Steal,
    /// Threads push to a shared queue: time from the first push to the last, over their number.
    Injector,
}

/// Options of `queue`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The pattern of operations on the queues.
    #[arg(long, value_enum, default_value = "push-pop-small")]
    pattern: Pattern,
    /// Threads of the executor [default: 4]
    #[arg(long, value_parser = whole::<1, { limits::MAX_WORKERS }>)]
    workers: Option<u64>,
    /// Items stolen at a time by steal [default: 8]
    #[arg(long, value_parser = whole::<1, { limits::MAX_BATCH }>)]
    batch: Option<u64>,
    /// Threads that push to the injector [default: 1]
    #[arg(long, value_parser = whole::<1, { limits::MAX_PRODUCERS }>)]
    producers: Option<u64>,
    /// Items that all of them push to the injector, together [default: 1500]
    #[arg(long, value_parser = whole::<1, { limits::MAX_ITEMS }>)]
    items: Option<u64>,
    /// Measurements in a run, which reports their median [default: as many as the pattern
    /// needs to be steady]
    #[arg(long, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    repetitions: Option<u64>,
}

impl AsRow for Options {
    fn row(&self) -> Result<Row, Stop> {
        let workers = self.of("workers", self.workers, Pattern::Executor)?.unwrap_or(4);
        let batch = self.of("batch", self.batch, Pattern::Steal)?.unwrap_or(8);
        let producers = self.of("producers", self.producers, Pattern::Injector)?.unwrap_or(1);
        let items = self.of("items", self.items, Pattern::Injector)?.unwrap_or(1_500);
        let repetitions = |default| self.repetitions.unwrap_or(default);
        match self.pattern {
            Pattern::PushPopSmall => PushPop::small(repetitions(400)).row(),
            Pattern::PushPopLarge => PushPop::large(repetitions(200)).row(),
            Pattern::Executor => Executor { workers, repetitions: repetitions(200) }.row(),
            Pattern::Steal => Steal { batch, repetitions: repetitions(1_000) }.row(),
            Pattern::Injector => Fill { producers, items, repetitions: repetitions(1_000) }.row(),
        }
    }
}

impl Options {
    /// The value of this option, which only the pattern `owner` has: others refuse it rather than ignore it.
    fn of(&self, option: &str, value: Option<u64>, owner: Pattern) -> Result<Option<u64>, Stop> {
        if value.is_none() || self.pattern == owner {
            return Ok(value);
        }
        let owner = owner.to_possible_value();
        let owner = owner.as_ref().map(|value| value.get_name()).unwrap_or_default();
        Err(Stop::Usage(format!("--{option} is for the pattern {owner} only")))
    }
}
