//! The content of the result file: the results in the words of [`schema`](crate::schema).

use super::results::{Lane, Results, Sheet};
use crate::noise::Noise;
use crate::schema::{Document, Failure, Meaning, Outcome, Runs, SCHEMA};
use crate::spent::Spent;
use crate::stats::{Numbers, middle, outliers};
use crate::stop::Stop;

impl Runs {
    /// Those of this lane.
    fn of(sheet: &Sheet, lane: &Lane) -> Self {
        let each = |value: fn(&Spent) -> f64| lane.spent.iter().map(value).collect::<Vec<_>>();
        let peaks = each(|spent| spent.peak);
        Runs {
            workload: sheet.workload.clone(),
            target: lane.name.clone(),
            params: sheet.params.clone(),
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

impl Meaning {
    /// That of this row.
    fn of(sheet: &Sheet) -> Self {
        let details = sheet.metrics.iter().filter(|metric| metric.is_detail);
        Meaning {
            workload: sheet.workload.clone(),
            params: sheet.params.clone(),
            done: sheet.done.clone(),
            like: sheet.like.clone(),
            own: sheet.own.clone(),
            yours: sheet.is_yours,
            headline: sheet.metrics[sheet.headline].name.clone(),
            details: details.map(|metric| metric.name.clone()).collect(),
            note: sheet.note.clone(),
        }
    }
}

/// What a target yielded, if it has a number.
fn outcomes<'a>(
    sheet: &'a Sheet,
    lane: &'a Lane,
    rounds: usize,
) -> impl Iterator<Item = Outcome> + 'a {
    sheet.metrics.iter().enumerate().filter_map(move |(index, metric)| {
        let samples = lane.samples(index);
        Some(Outcome {
            workload: sheet.workload.clone(),
            target: lane.name.clone(),
            peer: Some(lane.is_peer),
            metric: metric.name.clone(),
            params: sheet.params.clone(),
            unit: metric.unit.clone(),
            direction: metric.direction,
            median: middle(&samples)?,
            min: samples.iter().copied().min_by(f64::total_cmp)?,
            max: samples.iter().copied().max_by(f64::total_cmp)?,
            outliers: outliers(&samples),
            complete: lane.rounds(index).len() >= rounds,
            samples: Numbers(lane.rounds(index).to_vec()),
        })
    })
}

/// The content of the result file.
pub(crate) fn of(book: &Results, complete: bool) -> Result<Vec<u8>, Stop> {
    let lanes =
        || book.sheets.iter().flat_map(|sheet| sheet.lanes.iter().map(move |lane| (sheet, lane)));
    let failures = book.failures().map(|(sheet, lane, reason)| Failure {
        workload: sheet.workload.clone(),
        target: lane.name.clone(),
        peer: Some(lane.is_peer),
        params: sheet.params.clone(),
        reason: reason.to_owned(),
    });
    let file: Document<&Noise> = Document {
        schema: SCHEMA,
        complete,
        machine: book.machine.clone(),
        setting: Default::default(),
        rows: book.sheets.iter().map(Meaning::of).collect(),
        noise: &book.noise,
        results: lanes().flat_map(|(sheet, lane)| outcomes(sheet, lane, book.rounds)).collect(),
        runs: lanes()
            .filter(|(_, lane)| lane.failure.is_none() && !lane.spent.is_empty())
            .map(|(sheet, lane)| Runs::of(sheet, lane))
            .collect(),
        failures: failures.collect(),
    };
    let written = serde_json::to_vec_pretty(&file);
    let mut text = written.map_err(|error| Stop::Failed(format!("no result file: {error}")))?;
    text.push(b'\n');
    Ok(text)
}
