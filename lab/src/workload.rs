//! The traits of workloads: the results of a run, its needs, and for each family the run on a target.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Not;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use crate::failure::Outcome;
use crate::fault::Fault;
use crate::needs::Needs;
use crate::pins::Pin;
use crate::program::word;
use crate::stats;
use crate::stop::Stop;
use crate::tally::{Sum, Tally};
use crate::target::fork::{self, ForkJoin};
use crate::target::pool::{Running, Submit};
use crate::target::runtime::Runtime;
use crate::target::{Entry, Family};

/// Which of two values of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// The higher.
    Higher,
    /// The lower.
    Lower,
}

impl Direction {
    /// Which of two values comes first: the better.
    pub(crate) fn order(self, one: f64, other: f64) -> Ordering {
        match self {
            Direction::Higher => other.total_cmp(&one),
            Direction::Lower => one.total_cmp(&other),
        }
    }
}

/// A number yielded by a run of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub(crate) struct Metric {
    /// The name.
    pub(crate) name: Cow<'static, str>,
    /// The unit.
    pub(crate) unit: Cow<'static, str>,
    /// Which way is better.
    pub(crate) direction: Direction,
    /// Whether it is in the tables only with `--verbose`.
    #[serde(default, rename = "detail", skip_serializing_if = "Not::not")]
    pub(crate) is_detail: bool,
}

impl Metric {
    /// A number of which less is better.
    pub(crate) const fn less(name: &'static str, unit: &'static str) -> Self {
        let (name, unit) = (Cow::Borrowed(name), Cow::Borrowed(unit));
        Metric { name, unit, direction: Direction::Lower, is_detail: false }
    }

    /// A number of which more is better.
    pub(crate) const fn more(name: &'static str, unit: &'static str) -> Self {
        let mut metric = Metric::less(name, unit);
        metric.direction = Direction::Higher;
        metric
    }

    /// A number of which less is better, in the tables only with `--verbose`.
    pub(crate) const fn detail(name: &'static str, unit: &'static str) -> Self {
        let mut metric = Metric::less(name, unit);
        metric.is_detail = true;
        metric
    }

    /// The CPU time beside the wall time. Every workload has it as the last metric.
    pub(crate) const CPU: Self = Metric::less("cpu", "CPU s/s");
}

/// The metrics of a workload by their units, and the CPU time behind them. Before a unit stands the better direction, `more` or
/// `less`, or `detail`: less, and only with `--verbose`.
macro_rules! metrics {
    ($($way:ident $unit:literal: $($name:literal)+;)+) => {
        &[
            $($($crate::workload::Metric::$way($name, $unit),)+)+
            $crate::workload::Metric::CPU,
        ]
    };
}

pub(crate) use metrics;

impl Metric {
    /// Which percentile it is, if any: 99.9 for `late-p99.9`.
    fn percentile(&self) -> Option<f64> {
        self.name.rsplit('-').next()?.strip_prefix('p')?.parse().ok()
    }

    /// Whether it is a percentile of single values, or the greatest of them.
    pub(crate) fn is_of_values(&self) -> bool {
        self.percentile().is_some() || self.name.rsplit('-').next() == Some("max")
    }

    /// The share of the values beyond this metric, if it is a percentile near an end.
    pub(crate) fn tail(&self) -> Option<f64> {
        let percent = self.percentile()?;
        let beyond = percent.min(100.0 - percent) / 100.0;
        (beyond <= TAIL).then_some(beyond)
    }
}

/// The share of the values beyond a percentile near an end. A median, or a quartile, is no such percentile.
const TAIL: f64 = 0.1001;

/// The options of a run by name, in the order in which they are shown.
pub(crate) type Params = serde_json::Map<String, Value>;

/// The fields of `options` as a command line names them, without absent options.
pub(crate) fn fields(options: &impl Serialize) -> Params {
    let Ok(Value::Object(fields)) = serde_json::to_value(options) else {
        unreachable!("options are a struct of numbers and words")
    };
    let given = fields.into_iter().filter(|(_, value)| !value.is_null());
    given.map(|(name, value)| (name.replace('_', "-"), value)).collect()
}

/// Options as the words of a command line.
pub(crate) fn words(params: &Params) -> Vec<String> {
    // An option with several values is given several times.
    let values = |value: &Value| match value {
        Value::Array(values) => values.iter().map(word).collect(),
        value => vec![word(value)],
    };
    let given = params.iter().flat_map(|(name, value)| {
        values(value).into_iter().flat_map(move |value| [format!("--{name}"), value])
    });
    given.collect()
}

/// The same as a line, each word [`quoted`].
pub(crate) fn line(params: &Params) -> String {
    words(params).iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// `word` as a shell reads it: between quotes if it has any character that a shell may interpret.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.,:/=+%@{}".contains(c);
    // Braces with a list or a range between them stand for several words.
    let is_list = word.contains('{') && (word.contains(',') || word.contains(".."));
    let is_bare = !word.is_empty() && !is_list && word.chars().all(is_plain);
    if is_bare { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The other inputs of a run, besides the target and the options.
#[derive(Clone, Copy)]
pub(crate) struct Bench {
    /// The fault to inject.
    pub(crate) fault: Fault,
    /// How long to wait for an idle target.
    pub(crate) patience: Duration,
    /// Where the threads are, if not left to the kernel.
    pub(crate) pin: Option<Pin>,
    /// Counts the tasks and the single values.
    pub(crate) tally: &'static Tally,
}

impl Bench {
    /// Those of a test.
    #[cfg(test)]
    pub(crate) const fn new(tally: &'static Tally, fault: Fault) -> Self {
        Bench { fault, patience: Duration::from_secs(20), pin: None, tally }
    }

    /// The single values of a metric at these shares.
    pub(crate) fn quantiles<const N: usize>(&self, values: Vec<f64>, shares: [f64; N]) -> [f64; N] {
        self.tally.note_values(values.len() as u64);
        stats::quantiles(values, shares)
    }
}

/// A workload, generic over the targets.
pub(crate) trait Workload: Clone + Debug + Serialize + Send + 'static {
    /// The action, as the beginning of a sentence.
    const DONE: &'static str;

    /// A sentence: which programs look like it.
    const LIKE: &'static str;

    /// The family of the targets.
    type Family: Family;

    /// Names of further targets, which take part even if none is named.
    const FURTHER: &'static [&'static str] = &[];

    /// The metric to compare if there is to be a single one.
    const HEADLINE: usize = 0;

    /// Whether the threads can be pinned: it measures the traffic between two of them.
    const PINS: bool = false;

    /// Whether a run has a separate process.
    const APART: bool = false;

    /// The metrics of a run, [`Metric::CPU`] last.
    const METRICS: &'static [Metric];

    /// The two sentences with these options.
    fn meaning(&self) -> [&'static str; 2] {
        [Self::DONE, Self::LIKE]
    }

    /// The metrics of a run with these options.
    fn metrics(&self) -> &'static [Metric] {
        Self::METRICS
    }

    /// The options by name.
    fn params(&self) -> Params {
        fields(self)
    }

    /// Checks conditions between several options.
    fn check(&self) -> Result<(), Stop> {
        Ok(())
    }

    /// The program that a target must [run](Entry::runs), if it is not the workload itself.
    fn program(&self) -> Option<String> {
        None
    }

    /// Whether these options can be measured on this target, which runs the program.
    fn is_for(&self, _target: &Entry) -> bool {
        true
    }

    /// The number of threads with which the target is started: the option of the same name.
    fn threads(&self) -> usize {
        self.params().get("threads").and_then(Value::as_u64).unwrap_or_default() as usize
    }

    /// Tasks at a time, for a target with a thread for each.
    fn tasks(&self) -> u64 {
        0
    }

    /// Open files of a run at a time, and threads of the workload itself, without the running thread.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The expected tasks of a run, or the items to be popped from a queue, as far as known before.
    fn expected(&self) -> Sum {
        Sum::default()
    }

    /// The longest time in which no task of a run can end: between two at the option `rate`, if there is one.
    fn quiet(&self) -> Duration {
        let rate = self.params().get("rate").and_then(Value::as_u64);
        rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate as u32)
    }

    /// A line about the numbers, printed above the table.
    fn note(&self) -> Option<String> {
        None
    }

    /// Runs once on a target with a start of another kind; `None` on other targets.
    fn instead(&self, _target: &'static Entry, _bench: Bench) -> Option<Outcome> {
        None
    }
}

/// A workload for pools.
pub(crate) trait PoolWorkload: Workload {
    /// Runs once.
    fn run(&self, pool: &Running<impl Submit, impl Submit>, bench: &Bench) -> Outcome;
}

/// A workload for fork-join pools. It starts them itself: the memory of their threads is part of a run.
pub(crate) trait ForkWorkload: Workload {
    /// Runs once, on the pool of `start`.
    fn run<F: ForkJoin>(&self, start: fork::Start<F>, bench: &Bench) -> Outcome;
}

/// A workload for runtimes of futures, and for threads as a runtime.
pub(crate) trait RuntimeWorkload: Workload {
    /// Runs once.
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome;
}
