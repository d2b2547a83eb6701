//! Aligned tables, one block per metric, the best target first.

use super::quantity;
use super::results::{Lane, Sheet};
use super::speedup::Verdict;
use crate::spent::Spent;
use crate::stats::{middle, outliers};
use crate::workload::{self, Direction, Metric};

/// Width of the column of names: the longest is a heading, `system-hop (less is better)`.
const NAME: usize = 29;

/// Which metrics a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// None.
    None,
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
            Detail::None => false,
            Detail::Headline => index == sheet.headline,
            Detail::Usual => !sheet.metrics[index].is_detail,
            Detail::Verbose => true,
        }
    }
}

/// The table of one row.
pub(crate) fn of(sheet: &Sheet, detail: Detail) -> String {
    let mut text = format!("\n{}\n{}\n", sheet.row(), sheet.like);
    if let Some(note) = &sheet.note {
        text += &format!("{note}\n");
    }
    if let Some(noise) = &sheet.noise {
        text += &format!("{noise}\n");
    }
    let metrics = sheet.measured().filter(|(index, _)| detail.shows(sheet, *index));
    let runs = (detail == Detail::Verbose).then(|| Grid::of_runs(sheet));
    let grids = metrics.map(|(index, _)| Grid::of_metric(sheet, index)).chain(runs);
    grids.for_each(|grid| text += &grid.text());
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
    // A percentile of too few values is in none of the rows.
    let is_known = |metric: &Metric| {
        sheets.iter().any(|sheet| {
            let index = sheet.metrics.iter().position(|other| other.name == metric.name);
            index.is_some_and(|index| sheet.lacking(index).is_none())
        })
    };
    let metrics = first.metrics.iter().filter(|metric| is_verbose || !metric.is_detail);
    for metric in metrics.filter(|metric| is_known(metric)) {
        for sheets in sheets.chunks(COLUMNS) {
            let cells = |cell: &dyn Fn(&Sheet) -> String| {
                sheets.iter().map(|sheet| format!("{:>12}", cell(sheet))).collect::<String>()
            };
            text += &format!("  {:<NAME$}{}\n", title(metric), cells(&head));
            for lane in &first.lanes {
                let value = |sheet: &Sheet| {
                    // What a workload measures may depend on its options.
                    let index = sheet.metrics.iter().position(|other| other.name == metric.name)?;
                    if sheet.lacking(index).is_some() {
                        return None;
                    }
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
pub(crate) fn title(metric: &Metric) -> String {
    let better = match metric.direction {
        Direction::Higher => "more is better",
        Direction::Lower => "less is better",
    };
    format!("{} ({better})", metric.name)
}

/// A table in words, whatever shows it: of one metric, or of what the runs took in all.
pub(crate) struct Grid<'a> {
    /// Its heading.
    pub(crate) title: String,
    /// How many single values are behind it, in words, if it is a percentile or a maximum.
    pub(crate) values: Option<String>,
    /// The headings of the columns behind the target.
    pub(crate) heads: &'static [&'static str],
    /// The targets, each with its cells.
    pub(crate) lines: Vec<(&'a Lane, Vec<String>)>,
    /// A line below it; or why there is nothing above it.
    pub(crate) note: Option<String>,
}

/// Widths of the columns behind the target.
const WIDTHS: [usize; 5] = [12, 12, 12, 13, 12];

impl<'a> Grid<'a> {
    /// That of a metric: no lines, and perhaps a note, if it [lacks](Sheet::lacking) values or all targets failed.
    pub(crate) fn of_metric(sheet: &'a Sheet, index: usize) -> Self {
        let metric = &sheet.metrics[index];
        let lines = lines(sheet, index).into_iter().map(|(lane, cells)| (lane, cells.to_vec()));
        let outliers = sheet.lanes.iter().filter_map(|lane| {
            let samples = lane.samples(index);
            let count = outliers(&samples);
            (count > 0).then(|| format!("{} {count} of {}", lane.name, samples.len()))
        });
        let outliers: Vec<_> = outliers.collect();
        let outliers = (!outliers.is_empty())
            .then(|| format!("outliers, all of them counted above: {}", outliers.join(", ")));
        Grid {
            title: title(metric),
            values: metric.is_of_values().then(|| sheet.values_behind()).flatten(),
            heads: &["median", "min", "max", "× best peer", "CPUs"],
            lines: lines.collect(),
            note: sheet.lacking(index).or(outliers),
        }
    }

    /// What the runs took in all, medians over the rounds.
    pub(crate) fn of_runs(sheet: &'a Sheet) -> Self {
        let has_runs = |lane: &&Lane| !lane.spent.is_empty() && lane.failure.is_none();
        let lines = sheet.lanes.iter().filter(has_runs).map(|lane| {
            let cell = |unit: &str, value: fn(&Spent) -> f64| {
                let values: Vec<_> = lane.spent.iter().map(value).collect();
                let known = middle(&values).filter(|value| value.is_finite());
                known.map_or_else(|| "–".to_owned(), |value| quantity::short(value, unit))
            };
            let cells = [
                cell("s", |spent| spent.wall),
                cell("s", |spent| spent.usage.cpu()),
                cell("switches", |spent| spent.usage.voluntary),
                cell("switches", |spent| spent.usage.involuntary),
                cell("B", |spent| spent.peak.unwrap_or(f64::NAN)),
            ];
            (lane, cells.into())
        });
        Grid {
            title: "whole runs, start to end".to_owned(),
            values: None,
            heads: &["wall time", "CPU time", "waited", "lost its CPU", "peak memory"],
            lines: lines.collect(),
            note: None,
        }
    }

    /// Its heading with the number of values.
    pub(crate) fn heading(&self) -> String {
        let values = self.values.iter().map(|values| format!(", {values}"));
        [self.title.clone()].into_iter().chain(values).collect()
    }

    /// It for the terminal; nothing if it has neither lines nor a note.
    fn text(&self) -> String {
        let Grid { title, values, heads, lines, note } = self;
        match (lines.is_empty(), note) {
            (true, None) => return String::new(),
            (true, Some(note)) => return format!("  {title:<NAME$}{note}\n"),
            _ => {}
        }
        let line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
            let cells = cells.zip(WIDTHS).map(|(cell, width)| format!("{cell:>width$}"));
            format!("  {name:<NAME$}{}", cells.collect::<String>())
        };
        let mut text = line(title, &mut heads.iter().copied());
        text += &values.iter().map(|values| format!("  {values}")).collect::<String>();
        for (lane, cells) in lines {
            text += &format!("\n{}", line(&lane.name, &mut cells.iter().map(|cell| &**cell)));
        }
        text + &note.iter().map(|note| format!("\n  {note}")).collect::<String>() + "\n"
    }
}

/// The targets with a number, the best one first, each with the cells behind its name. None if the metric
/// [lacks](Sheet::lacking) values.
pub(crate) fn lines(sheet: &Sheet, index: usize) -> Vec<(&Lane, [String; 5])> {
    if sheet.lacking(index).is_some() {
        return Vec::new();
    }
    let Metric { unit, direction, .. } = &sheet.metrics[index];
    let lanes = sheet.lanes.iter().filter_map(|lane| {
        let samples = lane.samples(index);
        Some((middle(&samples)?, samples, lane))
    });
    let mut lanes: Vec<_> = lanes.collect();
    lanes.sort_by(|(a, ..), (b, ..)| direction.order(*a, *b));
    let best = sheet.best_peer(index);
    // Whether a target can't be told apart from the best of the peers, if it is not that one.
    let is_alike = |lane: &Lane| {
        let best = best.filter(|best| best.name != lane.name);
        let speedup = best.and_then(|best| sheet.speedup(index, lane, best));
        speedup.is_some_and(|speedup| matches!(speedup.verdict, Verdict::Same | Verdict::Unclear))
    };
    let number = |value: Option<f64>| value.map(|value| quantity::short(value, unit));
    let plain = |values: Vec<f64>| middle(&values).map(|value| format!("{value:.2}"));
    let cells = |(median, samples, lane): (f64, Vec<f64>, _)| {
        let cells = [
            number(Some(median)),
            number(samples.iter().copied().min_by(f64::total_cmp)),
            number(samples.iter().copied().max_by(f64::total_cmp)),
            plain(sheet.ratios(index, lane))
                .map(|ratio| ratio + if is_alike(lane) { " ≈" } else { "" }),
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
    use crate::target::Class;
    use crate::workload::Metric;

    #[test]
    fn a_round_that_is_an_outlier_is_said_below_the_usual_table() {
        let sheet = |last: f64| Sheet {
            metrics: vec![Metric::less("time", "s")],
            lanes: vec![Lane {
                values: vec![vec![1.0, 1.1, 1.0, 1.1, last]],
                ..Lane::new("rayon", true, Class::Threads)
            }],
            ..Sheet::default()
        };
        let line = "\n  outliers, all of them counted above: rayon 1 of 5";
        assert!(of(&sheet(9.0), Detail::Usual).ends_with(line));
        assert!(!of(&sheet(1.0), Detail::Usual).contains("outliers"));
    }

    #[test]
    fn a_count_of_threads_is_shown_as_a_number_and_compared_with_none_that_is_0() {
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
