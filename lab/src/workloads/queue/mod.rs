//! Queues alone, without a pool: the price of pushes, pops and steals.
//!
//! Each pattern is a file.

mod executor;
mod injector;
mod push_pop;
mod race;
mod steal;

use crate::target::queue::{CAPACITY, Deque, Injector, Item, Make, VisitQueue};
use crate::targets::queues::{Queues, is_injector, steals_any_number};
use crate::workloads::prelude::*;

/// One repetition in this many warms up, besides the first.
const WARM_UP: u64 = 10;

/// Items that are their own fingerprints.
fn items(count: usize) -> Vec<Item> {
    (0..count as u64).map(scramble).collect()
}

/// Pushes `items`, the first as often as `fault` says. An item without room is lost, which the
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Pattern {
    /// A single thread pushes 64 items, and pops them: time per 64 of both.
    PushPopSmall,
    /// A single thread pushes 256 items, and pops them: time per 256 of both.
    PushPopLarge,
    /// Threads run tasks that push themselves again, and steal when out of tasks: time until all
    /// are done.
    Executor,
    /// A thread steals a batch at a time: time per item stolen.
    Steal,
    /// Threads push to a shared queue: time from the first push to the last, over their number.
    Injector,
}

/// Options of `queue`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Queue {
    /// The pattern of operations on the queues.
    #[arg(long, value_enum, default_value = "push-pop-small")]
    pattern: Pattern,
    /// Threads of the executor [default: 4]
    #[arg(long, default_value_if("pattern", "executor", "4"), value_parser = whole::<1, { limits::MAX_WORKERS }>)]
    workers: Option<u64>,
    /// Items stolen at a time by steal [default: 8]
    #[arg(long, default_value_if("pattern", "steal", "8"), value_parser = whole::<1, { limits::MAX_BATCH }>)]
    batch: Option<u64>,
    /// Pushing threads of the injector [default: 1]
    #[arg(long, default_value_if("pattern", "injector", "1"), value_parser = whole::<1, { limits::MAX_PRODUCERS }>)]
    producers: Option<u64>,
    /// Items pushed to the injector by all of them together [default: 1500]
    #[arg(long, default_value_if("pattern", "injector", "1500"), value_parser = whole::<1, { limits::MAX_ITEMS }>)]
    items: Option<u64>,
    /// Measurements in a run, which reports their median [default: as many as the pattern
    /// needs to be steady]
    #[arg(long, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    repetitions: Option<u64>,
}

impl Workload for Queue {
    const DONE: &'static str = "push to a deque and pop from it";
    const LIKE: &'static str = "It stands for the inner loop of a scheduler, on one thread: every spawn and every next job.";
    type Family = Queues;
    const METRICS: &'static [Metric] = metrics! {
        less "s": "time";
    };

    fn meaning(&self) -> [&'static str; 2] {
        match self.pattern {
            Pattern::PushPopSmall | Pattern::PushPopLarge => [Self::DONE, Self::LIKE],
            Pattern::Executor => [
                "run a scheduler's traffic on deques",
                "It stands for the queues of a work-stealing scheduler, with the pushes, pops and steals of each thread.",
            ],
            Pattern::Steal => [
                "steal from a full deque",
                "It stands for an idle thread of a scheduler that takes work from a busy one.",
            ],
            Pattern::Injector => [
                "push jobs to a shared queue",
                "It stands for the entrance of a pool: all jobs from threads outside go through such a queue.",
            ],
        }
    }

    fn params(&self) -> Params {
        fields(&Queue { repetitions: Some(self.repetitions()), ..self.clone() })
    }

    fn check(&self) -> Result<(), Stop> {
        // An option of another pattern is refused rather than ignored.
        let options = [
            ("workers", self.workers, Pattern::Executor),
            ("batch", self.batch, Pattern::Steal),
            ("producers", self.producers, Pattern::Injector),
            ("items", self.items, Pattern::Injector),
        ];
        let strange =
            |(_, value, owner): &(_, Option<_>, _)| value.is_some() && self.pattern != *owner;
        if let Some((option, _, owner)) = options.into_iter().find(strange) {
            let owner = name(&owner);
            return Err(Stop::Usage(format!("--{option} is for the pattern {owner} only")));
        }
        let reason = "--items must be one for each of --producers at least";
        Stop::usage_if(self.items() < self.producers(), reason)?;
        let what = if self.pattern == Pattern::Executor { "steps" } else { "items" };
        limits::product(what, &[self.of_one().tasks, self.total()], limits::MAX_TASKS)
    }

    fn is_for(&self, target: &Entry) -> bool {
        is_injector(target) == (self.pattern == Pattern::Injector)
            && (self.pattern != Pattern::Steal || steals_any_number(target))
    }

    fn threads(&self) -> usize {
        // The existing thread is the first of them.
        match self.pattern {
            Pattern::Executor => self.workers() as usize - 1,
            Pattern::Injector => self.producers() as usize - 1,
            _ => 0,
        }
    }

    fn expected(&self) -> Sum {
        self.of_one().times(self.total())
    }
}

impl VisitQueue for Run<Queue> {
    fn visit<D: Deque>(self, make: Make<D>) -> Outcome {
        counted(self.workload, self.bench, move |queue, bench| match queue.pattern {
            Pattern::Executor => queue.execute(make, bench),
            Pattern::Steal => queue.steal(make, bench),
            _ => queue.push_pop(make, bench),
        })
    }

    fn visit_injector<I: Injector>(self, make: Make<I>) -> Outcome {
        counted(self.workload, self.bench, move |queue, bench| queue.inject(make, bench))
    }
}

impl Queue {
    /// The items of a repetition, or the steps of its tasks.
    fn of_one(&self) -> Sum {
        match self.pattern {
            Pattern::PushPopSmall | Pattern::PushPopLarge => push_pop::expected(self.size()),
            Pattern::Executor => executor::expected(self.workers()),
            Pattern::Steal => items(steal::VICTIMS * CAPACITY).into_iter().collect(),
            Pattern::Injector => injector::expected(self.items()),
        }
    }

    /// Items of a batch: a quarter of a queue at a time, or a whole queue.
    fn size(&self) -> usize {
        if self.pattern == Pattern::PushPopLarge { CAPACITY } else { CAPACITY / 4 }
    }

    /// Threads of the executor, each with a queue.
    fn workers(&self) -> u64 {
        self.workers.unwrap_or_default()
    }

    /// Pushing threads of the injector.
    fn producers(&self) -> u64 {
        self.producers.unwrap_or_default()
    }

    /// Items pushed in a repetition by all of them together.
    fn items(&self) -> u64 {
        self.items.unwrap_or_default()
    }

    /// Counted repetitions of a run.
    fn repetitions(&self) -> u64 {
        self.repetitions.unwrap_or(match self.pattern {
            Pattern::PushPopSmall => 400,
            Pattern::PushPopLarge | Pattern::Executor => 200,
            Pattern::Steal | Pattern::Injector => 1_000,
        })
    }

    /// Repetitions of a run, warm-up included.
    fn total(&self) -> u64 {
        1 + self.repetitions() / WARM_UP + self.repetitions()
    }

    /// Lets `repetition` run until enough of them count; yields the median of the returned times, in
    /// seconds, and the number of busy CPUs, untimed parts included.
    ///
    /// The fault befalls the first repetition, which only warms up: the timed part is the same for all.
    fn repeat(
        &self,
        bench: &Bench,
        mut repetition: impl FnMut(Fault) -> Result<f64, Failure>,
    ) -> Outcome {
        repetition(bench.fault)?;
        for _ in 0..self.repetitions() / WARM_UP {
            repetition(Fault::None)?;
        }
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        let times = (0..self.repetitions()).map(|_| repetition(Fault::None));
        let times = times.collect::<Result<Vec<_>, _>>()?;
        meter.end(&lap);
        Ok(vec![median(times), meter.cpus()])
    }
}
