//! Aligned tables, one block per metric, the best target first.

use super::quantity;
use super::results::{Lane, Sheet};
use crate::stats::middle;
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

impl Detail {
    /// Whether a table has this metric of a row.
    pub(crate) fn shows(self, sheet: &Sheet, index: usize) -> bool {
        match self {
            Detail::Headline => index == sheet.headline,
            Detail::Usual => !sheet.metrics[index].is_detail,
            Detail::Verbose => true,
        }
    }
}

/// The table of one row.
pub(crate) fn of(sheet: &Sheet, detail: Detail) -> String {
    let options = workload::line(&sheet.params);
    let mut text = format!("\n{} {options}\n{}\n", sheet.workload, sheet.like);
    if let Some(note) = &sheet.note {
        text += &format!("{note}\n");
    }
    for (index, metric) in sheet.measured() {
        if detail.shows(sheet, index) {
            text += &block(sheet, index, metric);
        }
    }
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
                    let lane = sheet.lanes.iter().find(|other| other.name == lane.name)?;
                    Some(quantity::short(middle(&lane.samples(index))?, &metric.unit))
                };
                let shown = |sheet: &Sheet| value(sheet).unwrap_or_else(|| "–".to_owned());
                text += &format!("  {:<NAME$}{}\n", lane.name, cells(&shown));
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The heading of a metric.
pub(crate) fn title(metric: &Metric<String>) -> String {
    let better = match metric.direction {
        Direction::Higher => "more is better",
        Direction::Lower => "less is better",
    };
    format!("{} ({better})", metric.name)
}

/// The heading of the columns behind the target.
pub(crate) const HEAD: [&str; 5] = ["median", "min", "max", "× best peer", "CPUs"];

/// The lines of one metric.
fn block(sheet: &Sheet, index: usize, metric: &Metric<String>) -> String {
    let lines = lines(sheet, index);
    if lines.is_empty() {
        return String::new();
    }
    let line = |name: &str, [median, min, max, ratio, cpus]: [&str; 5]| {
        format!("  {name:<NAME$}{median:>12}{min:>12}{max:>12}{ratio:>13}{cpus:>7}\n")
    };
    let lines = lines.iter().map(|(lane, cells)| line(&lane.name, cells.each_ref().map(|c| &**c)));
    line(&title(metric), HEAD) + &lines.collect::<String>()
}

/// The targets with a number, the best one first, each with the cells behind its name.
pub(crate) fn lines(sheet: &Sheet, index: usize) -> Vec<(&Lane, [String; 5])> {
    let Metric { unit, direction, .. } = &sheet.metrics[index];
    let lanes = sheet.lanes.iter().filter_map(|lane| {
        let samples = lane.samples(index);
        Some((middle(&samples)?, samples, lane))
    });
    let mut lanes: Vec<_> = lanes.collect();
    lanes.sort_by(|(a, ..), (b, ..)| match direction {
        Direction::Higher => b.total_cmp(a),
        Direction::Lower => a.total_cmp(b),
    });
    let number = |value: Option<f64>| value.map(|value| quantity::short(value, unit));
    let plain = |values: Vec<f64>| middle(&values).map(|value| format!("{value:.2}"));
    let cells = |(median, samples, lane): (f64, Vec<f64>, _)| {
        let cells = [
            number(Some(median)),
            number(samples.iter().copied().min_by(f64::total_cmp)),
            number(samples.iter().copied().max_by(f64::total_cmp)),
            plain(sheet.ratios(index, lane)),
            sheet.cpu().and_then(|cpu| plain(lane.samples(cpu))),
        ];
        (lane, cells.map(|cell| cell.unwrap_or_else(|| "–".to_owned())))
    };
    lanes.into_iter().map(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::{Detail, of};
    use crate::report::results::{Lane, Sheet};
    use crate::workload::{Direction, Metric};

    #[test]
    fn a_count_of_threads_is_shown_as_a_number_and_compared_with_none_that_is_0() {
        let lane = |name: &str, left| Lane {
            values: vec![vec![left; 3], vec![0.5; 3]],
            ..Lane::new(name, true)
        };
        let metric = |(name, unit): (&str, &str)| Metric {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction: Direction::Lower,
            is_detail: false,
        };
        let sheet = Sheet {
            metrics: [("left", "threads"), ("cpu", "CPU s/s")].map(metric).into(),
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
