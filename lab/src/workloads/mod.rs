//! What the targets have to do. Each workload is a file: its options, its limits, its metrics.

mod bucket_brigade;
pub(crate) mod burst;
mod chain;
mod creation;
mod echo;
mod elastic;
mod fan_out;
mod latency;
mod memory;
pub(crate) mod queue;
mod submit;
mod throughput;
mod wake;

use std::time::Duration;

use clap::Subcommand;
use serde_json::Value;

pub(crate) use self::bucket_brigade::{BucketBrigade, Over};
pub(crate) use self::burst::Burst;
pub(crate) use self::creation::{Creation, What};
pub(crate) use self::echo::Echo;
pub(crate) use self::elastic::Elastic;
pub(crate) use self::fan_out::FanOut;
pub(crate) use self::latency::Latency;
pub(crate) use self::memory::Memory;
pub(crate) use self::queue::Queue;
pub(crate) use self::submit::{Pattern, Submit};
pub(crate) use self::throughput::Throughput;
pub(crate) use self::wake::Wake;

use crate::census::Census;
use crate::fault::Fault;
use crate::inbox::Inbox;
use crate::needs::Needs;
use crate::stop::Stop;
use crate::supervise::Failure;
use crate::tally::{Sum, Tally};
use crate::targets::elastic::Size;
use crate::targets::handovers::Handover;
use crate::targets::pools::Target;
use crate::targets::queues::{Deque, Injector};
use crate::targets::runtimes::Runtime;
use crate::targets::{Entry, Family};

/// Which of two values of a metric is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// The higher one.
    Higher,
    /// The lower one.
    Lower,
}

/// One number that a run of a workload yields.
#[derive(Debug)]
pub(crate) struct Metric {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// Which way is better.
    pub(crate) direction: Direction,
}

impl Metric {
    /// A time, of which less is better.
    const fn time(name: &'static str) -> Self {
        Metric { name, unit: "s", direction: Direction::Lower }
    }

    /// A rate of tasks, of which more is better.
    const fn rate(name: &'static str) -> Self {
        Metric { name, unit: "tasks/s", direction: Direction::Higher }
    }

    /// A rate of requests, of which more is better.
    const fn requests(name: &'static str) -> Self {
        Metric { name, unit: "requests/s", direction: Direction::Higher }
    }

    /// A number of bytes, of which less is better.
    const fn bytes(name: &'static str) -> Self {
        Metric { name, unit: "B", direction: Direction::Lower }
    }

    /// A number of context switches, of which less is better.
    const fn switches(name: &'static str) -> Self {
        Metric { name, unit: "switches", direction: Direction::Lower }
    }

    /// A number of jobs, of which more is better.
    const fn jobs(name: &'static str) -> Self {
        Metric { name, unit: "jobs", direction: Direction::Higher }
    }

    /// A number of threads, of which less is better.
    const fn threads(name: &'static str) -> Self {
        Metric { name, unit: "threads", direction: Direction::Lower }
    }

    /// A number of values, of which less is better.
    const fn values(name: &'static str) -> Self {
        Metric { name, unit: "values", direction: Direction::Lower }
    }

    /// The CPU time beside the wall time. Every workload has it as its last metric.
    const CPU: Self = Metric { name: "cpu", unit: "CPU s/s", direction: Direction::Lower };
}

/// The options of a run by name, in the order in which they are shown.
pub(crate) type Params = Vec<(&'static str, Value)>;

/// What a run has besides its target and its options.
pub(crate) struct Bench {
    /// Counts the tasks.
    pub(crate) tally: &'static Tally,
    /// What to do wrong on purpose.
    pub(crate) fault: Fault,
}

/// One thing to measure, whatever it is measured on.
pub(crate) trait Workload: Clone + Send + 'static {
    /// What it is measured on.
    const FAMILY: Family = Family::Pool;

    /// Names of further configurations of pools that take part even if nobody names them.
    const FURTHER: &'static [&'static str] = &[];

    /// What a run yields, [`Metric::CPU`] last.
    const METRICS: &'static [Metric];

    /// The options by name.
    fn params(&self) -> Params;

    /// Checks what no option can check for itself.
    fn check(&self) -> Result<(), Stop> {
        Ok(())
    }

    /// Whether it can be measured on this target of its family.
    fn is_for(&self, _target: &Entry) -> bool {
        true
    }

    /// What a run on this target needs of the machine.
    fn needs(&self, target: &Entry) -> Needs {
        let threads = self.all_threads() + target.further_threads();
        Needs { files: 0, threads: threads as u64 }
    }

    /// All threads that a run has at a time, but for the laboratory's own.
    fn all_threads(&self) -> usize;

    /// The tasks a run must run, or the items that must come out of a queue.
    fn expected(&self) -> Sum;

    /// The longest time for which a run leaves its target without anything to end.
    fn quiet(&self) -> Duration {
        Duration::ZERO
    }

    /// A line about the numbers for the reader of the table, if there is something to say.
    fn note(&self) -> Option<String> {
        None
    }
}

/// A workload for pools.
pub(crate) trait PoolWorkload: Workload {
    /// Threads of the pool.
    fn threads(&self) -> usize;

    /// Runs once; the values are in the order of the metrics.
    fn run<T: Target>(&self, target: &T, bench: &Bench) -> Result<Vec<f64>, Failure>;
}

/// A workload for pools that grow and shrink.
pub(crate) trait ElasticWorkload: Workload {
    /// The size of the pool.
    fn size(&self) -> Size;

    /// Runs once; the values are in the order of the metrics. `others` are the threads that were
    /// there before the pool.
    fn run<T: Target>(
        &self,
        target: &T,
        others: &Census,
        bench: &Bench,
    ) -> Result<Vec<f64>, Failure>;
}

/// A workload for deques.
pub(crate) trait DequeWorkload: Workload {
    /// Runs once; the values are in the order of the metrics.
    fn run<D: Deque>(&self, bench: &Bench) -> Result<Vec<f64>, Failure>;
}

/// A workload for injectors.
pub(crate) trait InjectorWorkload: Workload {
    /// Runs once; the values are in the order of the metrics.
    fn run<I: Injector>(&self, bench: &Bench) -> Result<Vec<f64>, Failure>;
}

/// A workload for what hands values to threads that wait.
pub(crate) trait HandoverWorkload: Workload {
    /// Threads that wait.
    fn receivers(&self) -> usize;

    /// What they give the values of a run to.
    fn inbox(&self, bench: &Bench) -> &'static Inbox;

    /// Runs once; the values are in the order of the metrics.
    fn run<H: Handover>(
        &self,
        target: &mut H,
        inbox: &'static Inbox,
        bench: &Bench,
    ) -> Result<Vec<f64>, Failure>;
}

/// A workload for what runs futures, and for threads that do the same.
pub(crate) trait RuntimeWorkload: Workload {
    /// Threads of the runtime, if it has a choice.
    fn threads(&self) -> usize;

    /// Runs once; the values are in the order of the metrics.
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Result<Vec<f64>, Failure>;
}

/// A subcommand that measures: one row, or several that belong together.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Choice {
    /// One row.
    #[command(flatten)]
    One(Row),
    /// Time for values that come together to reach threads that wait for them.
    Burst(burst::Options),
}

impl Choice {
    /// The rows it stands for, all of one family.
    pub(crate) fn rows(&self) -> Vec<Row> {
        match self {
            Choice::One(row) => vec![row.clone()],
            Choice::Burst(options) => options.bursts().map(Row::Burst).collect(),
        }
    }
}

/// A workload with its options: a subcommand or a part of one, a table, and a row of the plans.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Row {
    /// Tasks per second of a fully loaded pool.
    Throughput(Throughput),
    /// Time from the start of a burst to its last task, with sleep between the bursts.
    Latency(Latency),
    /// Time that a submission costs the thread that submits.
    Submit(Submit),
    /// Time for an idle pool to start one task.
    Wake(Wake),
    /// Time until all children of one task have run.
    FanOut(FanOut),
    /// Time for an elastic pool to grow to its full size, and what is left of it later.
    Elastic(Elastic),
    /// Time that the operations of a queue take, without a pool around it.
    Queue(Queue),
    /// Time for a byte to go through a line of tasks, each of which passes it to the next.
    BucketBrigade(BucketBrigade),
    /// Time to make a task or a thread and to wait for its end.
    Creation(Creation),
    /// Resident memory of a task or a thread that waits.
    Memory(Memory),
    /// Requests per second over TCP connections to itself.
    Echo(Echo),
    /// Time for values to reach threads; several rows are one subcommand.
    #[command(skip)]
    Burst(Burst),
}

/// The same expression over whichever workload a row holds.
macro_rules! each {
    ($row:expr, $workload:ident => $value:expr) => {
        match $row {
            Row::Throughput($workload) => $value,
            Row::Latency($workload) => $value,
            Row::Submit($workload) => $value,
            Row::Wake($workload) => $value,
            Row::FanOut($workload) => $value,
            Row::Elastic($workload) => $value,
            Row::Queue(Queue::PushPop($workload)) => $value,
            Row::Queue(Queue::Executor($workload)) => $value,
            Row::Queue(Queue::Steal($workload)) => $value,
            Row::Queue(Queue::Fill($workload)) => $value,
            Row::Burst($workload) => $value,
            Row::BucketBrigade($workload) => $value,
            Row::Creation($workload) => $value,
            Row::Memory($workload) => $value,
            Row::Echo($workload) => $value,
        }
    };
}

impl Row {
    /// The name of the workload.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Row::Throughput(_) => "throughput",
            Row::Latency(_) => "latency",
            Row::Submit(_) => "submit",
            Row::Wake(_) => "wake",
            Row::FanOut(_) => "fan-out",
            Row::Elastic(_) => "elastic",
            Row::Queue(_) => "queue",
            Row::Burst(_) => "burst",
            Row::BucketBrigade(_) => "bucket-brigade",
            Row::Creation(_) => "creation",
            Row::Memory(_) => "memory",
            Row::Echo(_) => "echo",
        }
    }

    /// See [`Workload::FAMILY`].
    pub(crate) fn family(&self) -> Family {
        fn of<W: Workload>(_: &W) -> Family {
            W::FAMILY
        }
        each!(self, workload => of(workload))
    }

    /// See [`Workload::FURTHER`].
    pub(crate) fn further(&self) -> &'static [&'static str] {
        fn of<W: Workload>(_: &W) -> &'static [&'static str] {
            W::FURTHER
        }
        each!(self, workload => of(workload))
    }

    /// See [`Workload::METRICS`].
    pub(crate) fn metrics(&self) -> &'static [Metric] {
        fn of<W: Workload>(_: &W) -> &'static [Metric] {
            W::METRICS
        }
        each!(self, workload => of(workload))
    }

    /// See [`Workload::params`].
    pub(crate) fn params(&self) -> Params {
        each!(self, workload => workload.params())
    }

    /// See [`Workload::check`].
    pub(crate) fn check(&self) -> Result<(), Stop> {
        each!(self, workload => workload.check())
    }

    /// See [`Workload::note`].
    pub(crate) fn note(&self) -> Option<String> {
        each!(self, workload => workload.note())
    }

    /// See [`Workload::needs`].
    pub(crate) fn needs(&self, target: &Entry) -> Needs {
        each!(self, workload => workload.needs(target))
    }

    /// The targets of its family that it can be measured on, in the order of the table.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &'static Entry> {
        let is_for = |entry: &Entry| each!(self, workload => workload.is_for(entry));
        self.family().targets().filter(move |entry| is_for(entry))
    }
}

/// The value at `share` of the way through `sorted`, by nearest rank; a run has one value at least.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// `values` in ascending order.
fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.5), 50.0);
        assert_eq!(quantile(&values, 0.99), 99.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
    }
}
