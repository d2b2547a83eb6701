//! Aligned tables, a block per metric, the best target first.

use super::quantity;
use super::results::{Lane, Sheet};
use super::speedup::{Speedup, Verdict};
use crate::program::word;
use crate::stats::sorted;
use crate::workload::{Direction, Metric};

/// Width of the column of names: the longest is a heading, `system-hop (less is better)`.
const NAME: usize = 29;

/// Which metrics a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// None.
    None,
    /// All but details.
    Usual,
    /// All.
    Verbose,
}

/// The table of a row.
pub(crate) fn of(sheet: &Sheet, detail: Detail) -> String {
    let mut text = format!("\n{}\n{}\n", sheet.row(), sheet.like);
    for line in [&sheet.note, &sheet.noise].into_iter().flatten() {
        text += &format!("{line}\n");
    }
    let is_shown = |metric: &Metric| detail == Detail::Verbose || !metric.is_detail;
    let metrics = sheet.measured().filter(|(_, metric)| is_shown(metric));
    metrics.for_each(|(index, _)| text += &of_metric(sheet, index));
    for lane in &sheet.lanes {
        if let Some(failure) = &lane.failure {
            text += &format!("  {:<NAME$}no number: {failure}\n", lane.name);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Columns of values side by side in the table of a sweep.
const COLUMNS: usize = 6;

/// The table of a sweep: of each metric the medians of each target, a column for each measured row.
pub(crate) fn of_sweep(sheets: &[Sheet], is_verbose: bool) -> String {
    let [first, ..] = sheets else { return String::new() };
    let differs = |name: &&String| {
        sheets.iter().any(|sheet| sheet.params.get(*name) != first.params.get(*name))
    };
    let swept: Vec<_> = first.params.keys().filter(differs).collect();
    let names: Vec<_> = swept.iter().map(|name| format!("--{name}")).collect();
    let head = |sheet: &Sheet| {
        let words = swept.iter().filter_map(|name| sheet.params.get(*name).map(word));
        words.collect::<Vec<_>>().join("/")
    };
    let mut text = format!("\n{} by {}, medians\n", first.workload, names.join("/"));
    let line = |name: &str, cells: Vec<Option<String>>| {
        let cells = cells.iter().map(|cell| format!("{:>12}", cell.as_deref().unwrap_or("–")));
        format!("  {name:<NAME$}{}\n", cells.collect::<String>())
    };
    for metric in first.metrics.iter().filter(|metric| is_verbose || !metric.is_detail) {
        let value = |sheet: &Sheet, lane: &Lane| {
            // The metrics of a workload may depend on its options.
            let index = sheet.metrics.iter().position(|other| other.name == metric.name)?;
            let lane = sheet.lanes.iter().find(|other| other.name == lane.name)?;
            let known = lane.median(index).filter(|_| sheet.lacking(index).is_none());
            Some(quantity::short(known?, &metric.unit))
        };
        for sheets in sheets.chunks(COLUMNS) {
            let cells = |lane| sheets.iter().map(|sheet| value(sheet, lane)).collect::<Vec<_>>();
            let lines: Vec<_> = first.lanes.iter().map(|lane| (lane, cells(lane))).collect();
            // A percentile of too few values has no line.
            if lines.iter().any(|(_, cells)| cells.iter().any(Option::is_some)) {
                text +=
                    &line(&title(metric), sheets.iter().map(|sheet| Some(head(sheet))).collect());
                lines.into_iter().for_each(|(lane, cells)| text += &line(&lane.name, cells));
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The heading of a metric.
pub(crate) fn title(metric: &Metric) -> String {
    let better = match metric.direction {
        Direction::Higher => "more is better",
        Direction::Lower => "less is better",
    };
    format!("{} ({better})", metric.name)
}

/// Widths of the columns behind the target.
const WIDTHS: [usize; 5] = [12, 12, 12, 13, 12];

/// A line of a table: the heading, or a target.
fn aligned(name: &str, cells: &[impl AsRef<str>]) -> String {
    let cells = cells.iter().zip(WIDTHS).map(|(cell, width)| format!("{:>width$}", cell.as_ref()));
    format!("  {name:<NAME$}{}", cells.collect::<String>())
}

/// The part of a table about a metric: nothing if all targets failed.
fn of_metric(sheet: &Sheet, index: usize) -> String {
    let metric = &sheet.metrics[index];
    let title = title(metric);
    if let Some(reason) = sheet.lacking(index) {
        return format!("  {title:<NAME$}{reason}\n");
    }
    let lines = lines(sheet, index);
    if lines.is_empty() {
        return String::new();
    }
    let mut text = aligned(&title, &["median", "min", "max", "× best peer", "CPUs"]);
    if let Some(values) = sheet.values_behind().filter(|_| metric.is_of_values()) {
        text += &format!("  {values}");
    }
    lines.iter().for_each(|(lane, cells)| text += &format!("\n{}", aligned(&lane.name, cells)));
    text + "\n"
}

/// The targets with a number, the best first, each with the cells behind the name. None if the metric
/// [lacks](Sheet::lacking) values.
pub(crate) fn lines(sheet: &Sheet, index: usize) -> Vec<(&Lane, [String; 5])> {
    if sheet.lacking(index).is_some() {
        return Vec::new();
    }
    let Metric { unit, direction, .. } = &sheet.metrics[index];
    let lanes = sheet.lanes.iter().filter_map(|lane| Some((lane.median(index)?, lane)));
    let mut lanes: Vec<_> = lanes.collect();
    lanes.sort_by(|(a, _), (b, _)| direction.order(*a, *b));
    let best = sheet.best(index, |lane| lane.is_peer);
    let ratio = |lane: &Lane| {
        let best = best?;
        let Speedup { middle, verdict, .. } = sheet.speedup(index, lane, best)?;
        // A target as good as the best of the peers within the noise, but another.
        let is_alike = matches!(verdict, Verdict::Same | Verdict::Unclear);
        let mark = if is_alike && best.name != lane.name { " ≈" } else { "" };
        Some(format!("{middle:.2}{mark}"))
    };
    let cells = |(median, lane)| {
        let samples = sorted(Lane::samples(lane, index));
        let [min, max] = [samples.first(), samples.last()].map(Option::<&f64>::copied);
        let cpus = sheet.cpu().and_then(|cpu| lane.median(cpu)).map(|cpus| format!("{cpus:.2}"));
        let [ratio, cpus] = [ratio(lane), cpus].map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
        let [median, min, max] = [Some(median), min, max].map(|v| quantity::known(v, unit));
        (lane, [median, min, max, ratio, cpus])
    };
    lanes.into_iter().map(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::{Detail, of};
    use crate::report::results::{Lane, Sheet};
    use crate::target::Class;
    use crate::workload::Metric;

    #[test]
    fn a_thread_count_is_a_number_and_0_has_no_ratio() {
        let lane = |name: &str, left| Lane {
            values: vec![vec![left; 3], vec![0.5; 3]],
            ..Lane::new(name, true, Class::Threads)
        };
        let sheet = Sheet {
            metrics: vec![Metric::less("left", "threads"), Metric::CPU],
            lanes: vec![lane("threadpool", 4.0), lane("tokio-blocking", 0.0)],
            ..Sheet::default()
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
