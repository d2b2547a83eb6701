//! Aligned tables, one block per metric, the best target first.

use super::quantity;
use super::results::{Lane, Sheet};
use super::speedup::Verdict;
use crate::spent::Spent;
use crate::stats::{middle, outliers};
use crate::workload::{self, Direction, Metric};

/// Width of the column of names: the longest is a heading, `system-hop (less is better)`.
const NAME: usize = 27;

/// Which metrics a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The one that is compared if only one is.
    Headline,
    /// All but details.
    Usual,
    /// All.
    Verbose,
}

/// The table of one row.
pub(super) fn of(sheet: &Sheet, detail: Detail) -> String {
    let options = workload::line(&sheet.params);
    let mut text = format!("\n{} {options}\n{}\n", sheet.workload, sheet.meaning.like);
    if let Some(note) = &sheet.note {
        text += &format!("{note}\n");
    }
    if let Some(noise) = &sheet.noise {
        text += &format!("{noise}\n");
    }
    // The CPU time stands beside every other metric, as a column.
    let (_, metrics) = sheet.metrics.split_last().unwrap_or((&sheet.metrics[0], &[]));
    for (index, metric) in metrics.iter().enumerate() {
        let is_shown = match detail {
            Detail::Headline => index == sheet.meaning.headline,
            Detail::Usual => !metric.is_detail,
            Detail::Verbose => true,
        };
        if is_shown {
            text += &block(sheet, index, metric, detail);
        }
    }
    if detail == Detail::Verbose {
        text += &spent(sheet);
    }
    for lane in &sheet.lanes {
        if let Some(failure) = &lane.failure {
            text += &format!("  {:<NAME$}no number: {failure}\n", lane.target.name);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Columns of values side by side in the table of a sweep.
const COLUMNS: usize = 6;

/// The table of a sweep: of each metric the medians of each target, a column for each row that was measured.
pub(super) fn of_sweep(sheets: &[Sheet], is_verbose: bool) -> String {
    let [first, ..] = sheets else { return String::new() };
    let differs = |name: &&String| {
        sheets.iter().any(|sheet| sheet.params.get(*name) != first.params.get(*name))
    };
    let swept: Vec<_> = first.params.keys().filter(differs).collect();
    let names: Vec<_> = swept.iter().map(|name| format!("--{name}")).collect();
    let head = |sheet: &Sheet| {
        let words = swept.iter().filter_map(|name| sheet.params.get(*name).map(workload::word));
        words.collect::<Vec<_>>().join("/")
    };
    let mut text = format!("\n{} by {}, medians\n", first.workload, names.join("/"));
    for metric in first.metrics.iter().filter(|metric| is_verbose || !metric.is_detail) {
        for sheets in sheets.chunks(COLUMNS) {
            let cells = |cell: &dyn Fn(&Sheet) -> String| {
                sheets.iter().map(|sheet| format!("{:>12}", cell(sheet))).collect::<String>()
            };
            text += &format!("  {:<NAME$}{}\n", title(metric), cells(&head));
            for lane in &first.lanes {
                let value = |sheet: &Sheet| {
                    // What a workload measures may depend on its options.
                    let index = sheet.metrics.iter().position(|other| other.name == metric.name)?;
                    let lane = sheet.lanes.iter().find(|other| other.target.is(lane.target))?;
                    if sheet.lacking(index).is_some() {
                        return None;
                    }
                    Some(quantity::short(middle(&lane.samples(index))?, metric.unit))
                };
                let shown = |sheet: &Sheet| value(sheet).unwrap_or_else(|| "–".to_owned());
                text += &format!("  {:<NAME$}{}\n", lane.target.name, cells(&shown));
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The heading of a metric.
fn title(metric: &Metric) -> String {
    let better = match metric.direction {
        Direction::Higher => "more is better",
        Direction::Lower => "less is better",
    };
    format!("{} ({better})", metric.name)
}

/// The lines of one metric.
fn block(sheet: &Sheet, index: usize, metric: &Metric, detail: Detail) -> String {
    let title = title(metric);
    if let Some((values, needed)) = sheet.lacking(index) {
        return format!("  {title:<NAME$}{values} values are too few: it takes {needed}\n");
    }
    let ranked = ranked(sheet, index, metric.direction);
    if ranked.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "  {title:<NAME$}{:>12}{:>12}{:>12}{:>13}{:>7}\n",
        "median", "min", "max", "× best peer", "CPUs"
    );
    for lane in ranked {
        text += &line(sheet, index, metric, lane);
    }
    let outliers = sheet.lanes.iter().filter_map(|lane| {
        let samples = lane.samples(index);
        let count = outliers(&samples);
        (count > 0).then(|| format!("{} {count} of {}", lane.target.name, samples.len()))
    });
    let outliers: Vec<_> = outliers.collect();
    if detail == Detail::Verbose && !outliers.is_empty() {
        text += &format!("  outliers, all of them counted above: {}\n", outliers.join(", "));
    }
    text
}

/// What the runs took in all, medians over the rounds.
fn spent(sheet: &Sheet) -> String {
    let lanes = sheet.lanes.iter().filter(|lane| !lane.spent.is_empty() && lane.failure.is_none());
    let mut text = String::new();
    for lane in lanes {
        let cell = |unit: &str, value: fn(&Spent) -> f64| {
            let values: Vec<_> = lane.spent.iter().map(value).collect();
            let known = middle(&values).filter(|value| value.is_finite());
            known.map_or_else(|| "–".to_owned(), |value| quantity::short(value, unit))
        };
        text += &format!(
            "  {:<NAME$}{:>12}{:>12}{:>12}{:>13}{:>7}{:>12}\n",
            lane.target.name,
            cell("s", |spent| spent.wall),
            cell("s", |spent| spent.usage.cpu()),
            cell("switches", |spent| spent.usage.voluntary),
            cell("switches", |spent| spent.usage.involuntary),
            lane.migrations.map_or_else(|| "–".to_owned(), |count| count.to_string()),
            cell("B", |spent| spent.peak),
        );
    }
    if text.is_empty() {
        return text;
    }
    let [title, wall, cpu] = ["whole runs, start to end", "wall time", "CPU time"];
    let [waited, lost, moved, peak] = ["waited", "lost its CPU", "moved", "peak memory"];
    format!("  {title:<NAME$}{wall:>12}{cpu:>12}{waited:>12}{lost:>13}{moved:>7}{peak:>12}\n{text}")
}

/// Whether this lane can't be told apart from the best of the peers, if it is not that one.
fn is_alike(sheet: &Sheet, index: usize, direction: Direction, lane: &Lane) -> bool {
    let best = ranked(sheet, index, direction).into_iter().find(|lane| lane.target.is_peer);
    let best = best.filter(|best| !best.target.is(lane.target));
    let speedup = best.and_then(|best| sheet.speedup(index, lane, best));
    speedup.is_some_and(|speedup| speedup.verdict == Verdict::Same)
}

/// The lanes with a number, the best one first.
fn ranked(sheet: &Sheet, index: usize, direction: Direction) -> Vec<&Lane> {
    let key = |lane: &&Lane| middle(&lane.samples(index)).unwrap_or_default();
    let mut lanes: Vec<_> =
        sheet.lanes.iter().filter(|lane| !lane.samples(index).is_empty()).collect();
    lanes.sort_by(|a, b| match direction {
        Direction::Higher => key(b).total_cmp(&key(a)),
        Direction::Lower => key(a).total_cmp(&key(b)),
    });
    lanes
}

/// The line of one target.
fn line(sheet: &Sheet, index: usize, metric: &Metric, lane: &Lane) -> String {
    let samples = lane.samples(index);
    let shown = |value: Option<f64>| {
        value.map_or_else(|| "–".to_owned(), |value| quantity::short(value, metric.unit))
    };
    let plain = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |v| format!("{v:.2}"));
    let alike = if is_alike(sheet, index, metric.direction, lane) { " ≈" } else { "" };
    format!(
        "  {:<NAME$}{:>12}{:>12}{:>12}{:>13}{:>7}\n",
        lane.target.name,
        shown(middle(&samples)),
        shown(samples.iter().copied().min_by(f64::total_cmp)),
        shown(samples.iter().copied().max_by(f64::total_cmp)),
        plain(middle(&sheet.ratios(index, lane))) + alike,
        plain(middle(&lane.samples(sheet.metrics.len() - 1))),
    )
}

#[cfg(test)]
mod tests {
    use super::{Detail, of};
    use crate::report::results::{Lane, Sheet};
    use crate::target::Family as _;
    use crate::targets::pools::ElasticPools;
    use crate::workload::{Meaning, Metric, Params};

    #[test]
    fn a_count_of_threads_is_shown_as_a_number_and_compared_with_none_that_is_0() {
        const METRICS: &[Metric] = &[Metric::less("left", "threads"), Metric::CPU];
        let lane = |target: &&'static crate::target::Entry| {
            let left = if target.name == "tokio-blocking" { 0.0 } else { 4.0 };
            Lane {
                target,
                rounds: vec![vec![left, 0.5]; 3],
                spent: Vec::new(),
                migrations: None,
                failure: None,
            }
        };
        let lanes = ElasticPools::TARGETS.iter().map(lane).collect();
        let sheet = Sheet {
            workload: "elastic",
            meaning: Meaning::new("grow", "It is a test."),
            params: Params::new(),
            metrics: METRICS,
            note: None,
            noise: None,
            lanes,
        };
        let table = of(&sheet, Detail::Usual);
        let row = |name: &str| {
            let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            rows.find(|row| row[..].first() == Some(&name)).expect("a row")
        };
        // The name, three counts, the ratio and the CPUs.
        assert_eq!(row("threadpool"), ["threadpool", "4", "4", "4", "–", "0.50"], "{table}");
        assert_eq!(
            row("tokio-blocking"),
            ["tokio-blocking", "0", "0", "0", "–", "0.50"],
            "{table}"
        );
    }
}
