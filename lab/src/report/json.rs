//! The result file's content, schema 1.

use super::results::Results;
use crate::machine::Machine;
use crate::stats::middle;
use crate::stop::Stop;
use crate::workload::{Direction, Params};

/// The version of all this. A reader of another version must not guess.
pub(crate) const SCHEMA: u32 = 1;

/// The whole file.
#[derive(serde::Serialize)]
struct File<'a> {
    /// See [`SCHEMA`].
    schema: u32,
    /// Whether everything that was asked for is in it.
    complete: bool,
    /// What it was measured on.
    machine: &'a Machine,
    /// What the rows stand for.
    rows: Vec<Meaning<'a>>,
    /// One per row, target and metric.
    results: Vec<Outcome<'a>>,
    /// Targets without a number, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<Failure<'a>>,
}

/// What a row says in words.
#[derive(serde::Serialize)]
struct Meaning<'a> {
    /// The name of the workload.
    workload: &'a str,
    /// The options of the workload.
    params: &'a Params,
    /// What is done, as the beginning of a sentence.
    done: &'a str,
    /// A sentence: which programs look like it.
    like: &'a str,
    /// The target that the others are compared with.
    own: &'a str,
    /// Whether the program is the user's own.
    yours: bool,
    /// The metric that is compared if only one is.
    headline: &'a str,
    /// Metrics that are shown on demand only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<&'a str>,
    /// A line for the reader of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

/// One metric of one target in one row.
#[derive(serde::Serialize)]
struct Outcome<'a> {
    /// The name of the workload.
    workload: &'a str,
    /// The name of the target.
    target: &'a str,
    /// Whether brigade is compared with it.
    peer: bool,
    /// The name of the metric.
    metric: &'a str,
    /// The options of the workload.
    params: &'a Params,
    /// The unit of the metric.
    unit: &'a str,
    /// Which way is better.
    direction: Direction,
    /// One value per round, in the order of the rounds.
    samples: Vec<f64>,
    /// The middle of them.
    median: Option<f64>,
    /// The least of them.
    min: Option<f64>,
    /// The greatest of them.
    max: Option<f64>,
    /// Whether all rounds are there.
    complete: bool,
}

/// One target that has no number in one row.
#[derive(serde::Serialize)]
struct Failure<'a> {
    /// The name of the workload.
    workload: &'a str,
    /// The name of the target.
    target: &'a str,
    /// Whether that is a peer, whose failure is none of the run.
    peer: bool,
    /// The options of the workload.
    params: &'a Params,
    /// Why.
    reason: &'a str,
}

/// The content of the result file.
pub(super) fn of(book: &Results, complete: bool) -> Result<Vec<u8>, Stop> {
    let results = book.sheets.iter().flat_map(|sheet| {
        sheet.lanes.iter().flat_map(move |lane| {
            sheet.metrics.iter().enumerate().map(move |(index, metric)| {
                let samples = lane.samples(index);
                Outcome {
                    workload: &sheet.workload,
                    target: &lane.name,
                    peer: lane.is_peer,
                    metric: &metric.name,
                    params: &sheet.params,
                    unit: &metric.unit,
                    direction: metric.direction,
                    median: middle(&samples),
                    min: samples.iter().copied().min_by(f64::total_cmp),
                    max: samples.iter().copied().max_by(f64::total_cmp),
                    complete: samples.len() == book.rounds,
                    samples,
                }
            })
        })
    });
    let failures = book.failures().map(|(sheet, lane, reason)| Failure {
        workload: &sheet.workload,
        target: &lane.name,
        peer: lane.is_peer,
        params: &sheet.params,
        reason,
    });
    let rows = book.sheets.iter().map(|sheet| {
        let details = sheet.metrics.iter().filter(|metric| metric.is_detail);
        Meaning {
            workload: &sheet.workload,
            params: &sheet.params,
            done: &sheet.done,
            like: &sheet.like,
            own: &sheet.own,
            yours: sheet.is_yours,
            headline: &sheet.metrics[sheet.headline].name,
            details: details.map(|metric| &*metric.name).collect(),
            note: sheet.note.as_deref(),
        }
    });
    let file = File {
        schema: SCHEMA,
        complete,
        machine: &book.machine,
        rows: rows.collect(),
        results: results.filter(|result| !result.samples.is_empty()).collect(),
        failures: failures.collect(),
    };
    let written = serde_json::to_vec_pretty(&file);
    let mut text = written.map_err(|error| Stop::Failed(format!("no result file: {error}")))?;
    text.push(b'\n');
    Ok(text)
}
