//! The result file, schema 1: as the laboratory writes it, and as a reader has it. What only people and other programs read in it is
//! not read back.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::machine::Machine;
use crate::stats::Numbers;
use crate::workload::{Direction, Params};

/// The version of all this. A reader of another version must not guess.
pub(crate) const SCHEMA: u32 = 1;

/// Reads options by name, none of which may stand twice.
fn distinct<'de, D: Deserializer<'de>>(file: D) -> Result<Params, D::Error> {
    struct Options;
    impl<'de> Visitor<'de> for Options {
        type Value = Params;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("options by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params, A::Error> {
            let mut params = Params::new();
            while let Some((name, value)) = map.next_entry::<String, Value>()? {
                if params.insert(name.clone(), value).is_some() {
                    return Err(Error::custom(format!("duplicate option `{name}`")));
                }
            }
            Ok(params)
        }
    }
    file.deserialize_map(Options)
}

/// The whole file. What else the machine did is more than a reader needs of it.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Document<Noise> {
    /// See [`SCHEMA`].
    pub(crate) schema: u32,
    /// Whether everything that was asked for is in it.
    #[serde(default)]
    pub(crate) complete: bool,
    /// What it was measured on.
    pub(crate) machine: Machine,
    /// The same by name, with whatever else the file says of it.
    #[serde(skip)]
    pub(crate) setting: Map<String, Value>,
    /// What the rows stand for. Older files do not say so.
    #[serde(default)]
    pub(crate) rows: Vec<Meaning>,
    /// What else the machine did. Older files do not say so.
    #[serde(default)]
    pub(crate) noise: Noise,
    /// One per row, target and metric.
    pub(crate) results: Vec<Outcome>,
    /// One per row and target. Older files do not have them.
    #[serde(default)]
    pub(crate) runs: Vec<Runs>,
    /// Targets without a number, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failures: Vec<Failure>,
}

/// What a row says in words.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Meaning {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The options of the workload.
    #[serde(deserialize_with = "distinct")]
    pub(crate) params: Params,
    /// What is done, as the beginning of a sentence.
    pub(crate) done: String,
    /// A sentence: which programs look like it.
    pub(crate) like: String,
    /// The target that the others are compared with.
    pub(crate) own: String,
    /// Whether the program is the user's own.
    #[serde(default)]
    pub(crate) yours: bool,
    /// The metric that is compared if only one is.
    pub(crate) headline: String,
    /// Metrics that are shown on demand only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) details: Vec<String>,
    /// A line for the reader of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// One metric of one target in one row.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Outcome {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The name of the target.
    pub(crate) target: String,
    /// Whether brigade is compared with it. Older files do not say so.
    #[serde(default)]
    pub(crate) peer: Option<bool>,
    /// The name of the metric.
    pub(crate) metric: String,
    /// The options of the workload.
    #[serde(deserialize_with = "distinct")]
    pub(crate) params: Params,
    /// The unit of the metric.
    pub(crate) unit: String,
    /// Which way is better.
    pub(crate) direction: Direction,
    /// One value per round, in the order of the rounds.
    pub(crate) samples: Numbers,
    /// The middle of those that are numbers.
    pub(crate) median: f64,
    /// The least of them.
    pub(crate) min: f64,
    /// The greatest of them.
    pub(crate) max: f64,
    /// How many of them are beyond Tukey's fences.
    #[serde(skip_deserializing)]
    pub(crate) outliers: usize,
    /// Whether all rounds are there.
    pub(crate) complete: bool,
}

/// What the runs of one target in one row took in all, from before it started until after it had ended: a value per round.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Runs {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The name of the target.
    pub(crate) target: String,
    /// The options of the workload.
    #[serde(deserialize_with = "distinct")]
    pub(crate) params: Params,
    /// How many single values are behind each percentile; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Vec<u64>>,
    /// Seconds.
    pub(crate) wall_seconds: Vec<f64>,
    /// CPU seconds of all threads, in and outside the kernel, and of processes that were started for the run.
    pub(crate) cpu_seconds: Vec<f64>,
    /// Context switches of threads that waited.
    pub(crate) voluntary_switches: Vec<f64>,
    /// Context switches of threads that lost their CPU to another.
    pub(crate) involuntary_switches: Vec<f64>,
    /// How often threads of the run that warmed up were moved from one CPU to another; absent if the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) migrations: Option<u64>,
    /// The most bytes of the laboratory that were in memory at a time; absent if the runs had processes of their own, or the
    /// system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) peak_bytes: Option<Vec<f64>>,
}

/// One target that has no number in one row.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Failure {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The name of the target.
    pub(crate) target: String,
    /// Whether that is a peer, whose failure is none of the run. Older files do not say so.
    #[serde(default)]
    pub(crate) peer: Option<bool>,
    /// The options of the workload.
    #[serde(deserialize_with = "distinct")]
    pub(crate) params: Params,
    /// Why.
    pub(crate) reason: String,
}
