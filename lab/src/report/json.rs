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
    /// One per row, target and metric.
    results: Vec<Outcome<'a>>,
    /// Targets without a number, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<Failure<'a>>,
}

/// One metric of one target in one row.
#[derive(serde::Serialize)]
struct Outcome<'a> {
    /// The name of the workload.
    workload: &'a str,
    /// The name of the target.
    target: &'a str,
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
                    workload: sheet.workload,
                    target: lane.target.name,
                    metric: metric.name,
                    params: &sheet.params,
                    unit: metric.unit,
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
        workload: sheet.workload,
        target: lane.target.name,
        peer: lane.target.is_peer,
        params: &sheet.params,
        reason,
    });
    let file = File {
        schema: SCHEMA,
        complete,
        machine: &book.machine,
        results: results.filter(|result| !result.samples.is_empty()).collect(),
        failures: failures.collect(),
    };
    let written = serde_json::to_vec_pretty(&file);
    let mut text = written.map_err(|error| Stop::Failed(format!("no result file: {error}")))?;
    text.push(b'\n');
    Ok(text)
}
