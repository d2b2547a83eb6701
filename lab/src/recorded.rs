//! A result file as a reader has it: what `report::json` writes, without what no reader needs.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::report::json::SCHEMA;
use crate::stop::Stop;
use crate::workload::Direction;

/// Bytes of a result file at most: a thousand rounds of everything on every target have a tenth of that.
const LONGEST: u64 = 256 << 20;

/// A result file.
#[derive(Debug, Deserialize)]
pub(crate) struct Recorded {
    /// What it was measured on.
    pub(crate) machine: Machine,
    /// One per row, target and metric.
    pub(crate) results: Vec<Outcome>,
    /// Targets without a number.
    #[serde(default)]
    pub(crate) failures: Vec<Failure>,
}

/// What of the file is read first.
#[derive(Deserialize)]
struct Version {
    /// See [`SCHEMA`].
    schema: u32,
}

/// What the caption says of the machine.
#[derive(Debug, Deserialize)]
pub(crate) struct Machine {
    /// CPUs the laboratory could use.
    pub(crate) cpus: u64,
    /// What the CPUs call themselves.
    pub(crate) cpu_model: String,
    /// Name and release of the kernel.
    pub(crate) kernel: String,
    /// Architecture of the laboratory.
    pub(crate) arch: String,
    /// The compiler that built it.
    pub(crate) rustc: String,
    /// Whether it was built without optimisation.
    pub(crate) debug: bool,
    /// Its version.
    pub(crate) version: String,
    /// When it started, in UTC.
    pub(crate) date: String,
    /// Threads of another process that computed all the while.
    pub(crate) hogs: u64,
    /// Where the threads were, unless the kernel decided that.
    #[serde(default)]
    pub(crate) pin: Option<String>,
}

/// One metric of one target in one row.
#[derive(Debug, Deserialize)]
pub(crate) struct Outcome {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The name of the target.
    pub(crate) target: String,
    /// The name of the metric.
    pub(crate) metric: String,
    /// The options of the workload.
    pub(crate) params: Params,
    /// The unit of the metric.
    pub(crate) unit: String,
    /// Which way is better.
    pub(crate) direction: Direction,
    /// One value per round.
    pub(crate) samples: Vec<f64>,
    /// The middle of them.
    pub(crate) median: f64,
    /// The least of them.
    pub(crate) min: f64,
    /// The greatest of them.
    pub(crate) max: f64,
    /// Whether all rounds are there.
    pub(crate) complete: bool,
}

/// One target that has no number in one row.
#[derive(Debug, Deserialize)]
pub(crate) struct Failure {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The name of the target.
    pub(crate) target: String,
    /// The options of the workload.
    pub(crate) params: Params,
    /// Why.
    pub(crate) reason: String,
}

/// Options by name, in the order of the file, as they are typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Params(pub(super) Vec<(String, String)>);

impl Params {
    /// The value of this option.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// All of them as one line.
    pub(crate) fn line(&self) -> String {
        let words: Vec<_> =
            self.0.iter().map(|(name, value)| format!("--{name} {value}")).collect();
        words.join(" ")
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

/// Reads [`Params`]; a map of serde_json's would sort them by name.
struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Params;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("options by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params, A::Error> {
        let mut params = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            params.push((name, text));
        }
        Ok(Params(params))
    }
}

impl Recorded {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, Stop> {
        let content = content(path)?;
        Recorded::parse(&content).map_err(|reason| {
            let name = path.display();
            Stop::Usage(format!("{name} is not a result file of the laboratory: {reason}"))
        })
    }

    /// Reads what a result file contains.
    pub(crate) fn parse(content: &[u8]) -> Result<Self, String> {
        let why = |error: serde_json::Error| error.to_string();
        let Version { schema } = serde_json::from_slice(content).map_err(why)?;
        if schema != SCHEMA {
            return Err(format!("its schema is {schema}, and this program reads schema {SCHEMA}"));
        }
        serde_json::from_slice(content).map_err(why)
    }
}

/// All bytes of the file at `path`.
fn content(path: &Path) -> Result<Vec<u8>, Stop> {
    let mut content = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut content));
    match read {
        Ok(_) if content.len() as u64 > LONGEST => {
            Err(Stop::Usage(format!("{} is too long for a result file", path.display())))
        }
        Ok(_) => Ok(content),
        Err(error) => {
            let reason = format!("{} can't be read: {error}", path.display());
            Err(match error.kind() {
                ErrorKind::NotFound | ErrorKind::IsADirectory => Stop::Usage(reason),
                _ => Stop::Refused(reason),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Params, Recorded};

    #[test]
    fn options_keep_their_order_and_are_as_they_are_typed() {
        let params: Params = serde_json::from_str(
            r#"{ "pattern": "steal", "batch": 32, "ack": true, "gap-ms": 0.5 }"#,
        )
        .expect("options");
        let expected = [("pattern", "steal"), ("batch", "32"), ("ack", "true"), ("gap-ms", "0.5")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(params.0, expected);
        assert_eq!((params.get("batch"), params.get("none")), (Some("32"), None));
    }

    #[test]
    fn another_schema_is_not_read_whatever_else_it_has() {
        let error = Recorded::parse(br#"{ "schema": 2, "results": 7 }"#).expect_err("an error");
        assert_eq!(error, "its schema is 2, and this program reads schema 1");
    }
}
