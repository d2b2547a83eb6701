//! A result file as a reader has it: what `report::json` writes, without what no reader needs.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::report::json::SCHEMA;
use crate::report::results::{Lane, Sheet};
use crate::stop::{Stop, printable};
use crate::workload::{self, Direction, Metric, Params};

/// Bytes of a result file at most: a thousand rounds of everything on every target have a tenth of that.
const LONGEST: u64 = 256 << 20;

/// Rows of a report at most, and targets and metrics of a row: the largest plan has a tenth of that.
const MOST: usize = 1_000;
const WIDEST: usize = 200;

/// A result file.
#[derive(Debug, Deserialize)]
pub(crate) struct Recorded {
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
    rows: Vec<Meaning>,
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

/// Everything that the file says of the machine.
#[derive(Deserialize)]
struct Setting {
    /// It by name.
    machine: Map<String, Value>,
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

/// What a row says in words.
#[derive(Debug, Default, Deserialize)]
struct Meaning {
    /// The name of the workload.
    workload: String,
    /// The options of the workload.
    params: Params,
    /// What is done.
    done: String,
    /// Which programs look like it.
    like: String,
    /// The target that the others are compared with.
    own: String,
    /// Whether the program is the user's own.
    #[serde(default)]
    yours: bool,
    /// The metric that is compared if only one is.
    headline: String,
    /// Metrics that are shown on demand only.
    #[serde(default)]
    details: Vec<String>,
    /// A line for the reader of the table.
    #[serde(default)]
    note: Option<String>,
}

/// One metric of one target in one row.
#[derive(Debug, Deserialize)]
pub(crate) struct Outcome {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The name of the target.
    pub(crate) target: String,
    /// Whether brigade is compared with it. Older files do not say so.
    #[serde(default)]
    peer: Option<bool>,
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
    /// See [`Outcome::peer`].
    #[serde(default)]
    peer: Option<bool>,
    /// The options of the workload.
    pub(crate) params: Params,
    /// Why.
    pub(crate) reason: String,
}

/// Whether a target of this name is brigade, in whatever configuration.
pub(crate) fn is_own(target: &str) -> bool {
    target.strip_prefix("brigade").is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

impl Recorded {
    /// The rows of the file, as they were when they were measured, or what is wrong with them.
    pub(crate) fn sheets(&self) -> Result<Vec<Sheet>, String> {
        let meanings =
            self.rows.iter().map(|row| ((&*row.workload, workload::line(&row.params)), row));
        let meanings: HashMap<_, _> = meanings.collect();
        let (mut sheets, mut places) = (Vec::<Sheet>::new(), HashMap::new());
        let mut place = |sheets: &mut Vec<Sheet>, workload, params: &Params| {
            let key = (workload, workload::line(params));
            let meaning = meanings.get(&key).copied();
            let place = *places.entry(key).or_insert(sheets.len());
            if place == sheets.len() {
                sheets.push(blank(workload, params, meaning));
            }
            (place, meaning)
        };
        for result in &self.results {
            let (place, meaning) = place(&mut sheets, &*result.workload, &result.params);
            add(&mut sheets[place], result, meaning)?;
        }
        for Failure { workload, target, params, peer, reason } in &self.failures {
            let (place, _) = place(&mut sheets, workload, params);
            lane(&mut sheets[place], target, *peer)?.failure = Some(printable(reason));
        }
        for sheet in sheets.iter_mut().filter(|sheet| sheet.metrics.is_empty()) {
            // Every target of it failed. What the values would have been is nowhere in the file.
            let [name, unit] = ["no number", ""].map(str::to_owned);
            let direction = Direction::Lower;
            sheet.metrics.push(Metric { name, unit, direction, is_detail: false });
        }
        match sheets.len() {
            0..=MOST => Ok(sheets),
            rows => Err(format!("it has {rows} rows, and a report {MOST} at most")),
        }
    }

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
        let mut recorded: Recorded = serde_json::from_slice(content).map_err(why)?;
        let Setting { machine } = serde_json::from_slice(content).map_err(why)?;
        recorded.setting = machine;
        Ok(recorded)
    }
}

/// A row that has no targets yet.
fn blank(workload: &str, params: &Params, meaning: Option<&Meaning>) -> Sheet {
    let text = |value: &Value| Value::from(printable(&workload::word(value)));
    // An option may have several words.
    let words_of = |value: &Value| match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => text(value),
    };
    let words = |word: fn(&Meaning) -> &String| meaning.map(|meaning| printable(word(meaning)));
    Sheet {
        workload: printable(workload),
        done: words(|meaning| &meaning.done).unwrap_or_else(|| printable(workload)),
        like: words(|meaning| &meaning.like).unwrap_or_default(),
        params: params.iter().map(|(name, value)| (printable(name), words_of(value))).collect(),
        own: words(|meaning| &meaning.own).unwrap_or_else(|| "brigade".to_owned()),
        is_yours: meaning.is_some_and(|meaning| meaning.yours),
        note: meaning.and_then(|meaning| meaning.note.as_deref().map(printable)),
        ..Sheet::default()
    }
}

/// This target of the row, which may be new.
fn lane<'a>(
    sheet: &'a mut Sheet,
    target: &str,
    peer: Option<bool>,
) -> Result<&'a mut Lane, String> {
    let target = &printable(target);
    let lanes = &sheet.lanes;
    let place = lanes.iter().position(|lane| lane.name == *target).unwrap_or(lanes.len());
    if place == WIDEST {
        return Err(too_many(sheet, "targets"));
    }
    if place == lanes.len() {
        sheet.lanes.push(Lane::new(target, peer.unwrap_or(!is_own(target))));
    }
    Ok(&mut sheet.lanes[place])
}

/// Adds a result to its row.
fn add(sheet: &mut Sheet, result: &Outcome, meaning: Option<&Meaning>) -> Result<(), String> {
    let Outcome { target, metric: name, unit, direction, samples, peer, .. } = result;
    let [name, unit] = [name, unit].map(|text| printable(text));
    let metrics = &mut sheet.metrics;
    let index = metrics.iter().position(|metric| metric.name == name).unwrap_or(metrics.len());
    if index == metrics.len() {
        let is_detail = meaning.is_some_and(|meaning| meaning.details.contains(&name));
        metrics.push(Metric { name: name.clone(), unit, direction: *direction, is_detail });
    }
    if index == WIDEST {
        return Err(too_many(sheet, "metrics"));
    }
    if meaning.is_some_and(|meaning| meaning.headline == name) {
        sheet.headline = index;
    }
    let lane = lane(sheet, target, *peer)?;
    lane.values.resize(lane.values.len().max(index + 1), Vec::new());
    if !lane.values[index].is_empty() {
        return Err(format!("it has {name} of {target} in {} twice", result.workload));
    }
    lane.values[index].clone_from(samples);
    Ok(())
}

/// The error of a row with more than a report can show.
fn too_many(sheet: &Sheet, what: &str) -> String {
    format!("a row of {} has more than {WIDEST} {what}", sheet.workload)
}

/// All bytes of the file at `path`.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, Stop> {
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
    use super::Recorded;

    #[test]
    fn another_schema_is_not_read_whatever_else_it_has() {
        let error = Recorded::parse(br#"{ "schema": 2, "results": 7 }"#).expect_err("an error");
        assert_eq!(error, "its schema is 2, and this program reads schema 1");
    }
}
