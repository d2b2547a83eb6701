//! The result file's content, schema 1.

use super::results::{Lane, Results, Sheet};
use crate::machine::Machine;
use crate::noise::Noise;
use crate::spent::Spent;
use crate::stats::{middle, outliers};
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
    /// What else the machine did.
    noise: &'a Noise,
    /// One per row, target and metric.
    results: Vec<Outcome<'a>>,
    /// One per row and target.
    runs: Vec<Runs<'a>>,
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
    /// How many of them are beyond Tukey's fences.
    outliers: usize,
    /// Whether all rounds are there.
    complete: bool,
}

/// What the runs of one target in one row took in all, from before it started until after it had ended: a value per round.
#[derive(serde::Serialize)]
struct Runs<'a> {
    /// The name of the workload.
    workload: &'a str,
    /// The name of the target.
    target: &'a str,
    /// The options of the workload.
    params: &'a Params,
    /// How many single values are behind each percentile; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<u64>>,
    /// Seconds.
    wall_seconds: Vec<f64>,
    /// CPU seconds of all threads, in and outside the kernel, and of processes that were started for the run.
    cpu_seconds: Vec<f64>,
    /// Context switches of threads that waited.
    voluntary_switches: Vec<f64>,
    /// Context switches of threads that lost their CPU to another.
    involuntary_switches: Vec<f64>,
    /// How often threads of the run that warmed up were moved from one CPU to another; absent if the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    migrations: Option<u64>,
    /// The most bytes of the laboratory that were in memory at a time; absent if the runs had processes of their own, or the
    /// system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_bytes: Option<Vec<f64>>,
}

impl<'a> Runs<'a> {
    /// Those of this lane.
    fn of(sheet: &'a Sheet, lane: &'a Lane) -> Self {
        let each = |value: fn(&Spent) -> f64| lane.spent.iter().map(value).collect::<Vec<_>>();
        let peaks = each(|spent| spent.peak);
        Runs {
            workload: &sheet.workload,
            target: &lane.name,
            params: &sheet.params,
            values: (lane.values_behind() > 0)
                .then(|| lane.spent.iter().map(|spent| spent.count).collect()),
            wall_seconds: each(|spent| spent.wall),
            cpu_seconds: each(|spent| spent.usage.cpu()),
            voluntary_switches: each(|spent| spent.usage.voluntary),
            involuntary_switches: each(|spent| spent.usage.involuntary),
            migrations: lane.migrations,
            peak_bytes: peaks.iter().all(|peak| peak.is_finite()).then_some(peaks),
        }
    }
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
                    outliers: outliers(&samples),
                    complete: samples.len() >= book.rounds,
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
    let lanes =
        book.sheets.iter().flat_map(|sheet| sheet.lanes.iter().map(move |lane| (sheet, lane)));
    let file = File {
        schema: SCHEMA,
        complete,
        machine: &book.machine,
        rows: rows.collect(),
        results: results.filter(|result| !result.samples.is_empty()).collect(),
        runs: lanes
            .filter(|(_, lane)| lane.failure.is_none() && !lane.spent.is_empty())
            .map(|(sheet, lane)| Runs::of(sheet, lane))
            .collect(),
        noise: &book.noise,
        failures: failures.collect(),
    };
    let written = serde_json::to_vec_pretty(&file);
    let mut text = written.map_err(|error| Stop::Failed(format!("no result file: {error}")))?;
    text.push(b'\n');
    Ok(text)
}
