//! The options of `queue` on the command line, and which pattern has which.

use super::executor::Executor;
use super::injector::Fill;
use super::push_pop::PushPop;
use super::steal::Steal;
use crate::workloads::prelude::*;

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

impl Rows for Options {
    fn rows(&self) -> Result<Vec<Box<dyn Row>>, Stop> {
        let workers = self.of("workers", self.workers, Pattern::Executor)?.unwrap_or(4);
        let batch = self.of("batch", self.batch, Pattern::Steal)?.unwrap_or(8);
        let producers = self.of("producers", self.producers, Pattern::Injector)?.unwrap_or(1);
        let items = self.of("items", self.items, Pattern::Injector)?.unwrap_or(1_500);
        let repetitions = |default| self.repetitions.unwrap_or(default);
        Ok(vec![match self.pattern {
            Pattern::PushPopSmall => Box::new(PushPop::small(repetitions(400))),
            Pattern::PushPopLarge => Box::new(PushPop::large(repetitions(200))),
            Pattern::Executor => Box::new(Executor { workers, repetitions: repetitions(200) }),
            Pattern::Steal => Box::new(Steal { batch, repetitions: repetitions(1_000) }),
            Pattern::Injector => {
                Box::new(Fill { producers, items, repetitions: repetitions(1_000) })
            }
        }])
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
