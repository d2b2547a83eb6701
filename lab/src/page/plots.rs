//! Which plots a row has, and which a sweep.

use std::collections::HashMap;

use super::content::rounds;
use crate::chart::lines::{self, Line};
use crate::chart::rows::{self, Marks, Row, glyph};
use crate::chart::{Drawing, wording};
use crate::report::quantity;
use crate::report::results::{Lane, Sheet};
use crate::report::speedup::interval;
use crate::report::table;
use crate::stats::middle;
use crate::workload::{self, Params};

/// Width of a plot, in which text has its usual size on a phone.
const WIDTH: f64 = 400.0;
/// Targets that a description names.
const NAMED: usize = 6;

/// A plot, and what stands around it.
pub(super) struct Plot {
    /// What is plotted.
    pub(super) title: String,
    /// How to read it.
    pub(super) key: String,
    /// Its description for a screen reader.
    pub(super) description: String,
    /// The picture.
    pub(super) drawing: Drawing,
}

/// The plots of a row: its headline, and each of its distributions.
pub(super) fn of(sheet: &Sheet) -> Vec<Plot> {
    bars(sheet).into_iter().chain(spreads(sheet)).collect()
}

/// A bar for each target, if one has a number.
fn bars(sheet: &Sheet) -> Option<Plot> {
    let metric = sheet.metrics.get(sheet.headline)?;
    let row = |(lane, [median, ..]): (&Lane, [String; 5])| {
        let samples = lane.samples(sheet.headline);
        let ends = samples
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
        let length = middle(&samples).unwrap_or_default();
        let interval = interval(&samples);
        row(sheet, lane, median, Marks::Bar { length, range: ends, interval })
    };
    let rows: Vec<_> = table::lines(sheet, sheet.headline).into_iter().map(row).collect();
    let named = rows.iter().take(NAMED).map(|row| format!("{} {}", row.name, row.value));
    let description = format!("{} bars, the best first: {}", rows.len(), list(named, rows.len()));
    (!rows.is_empty()).then(|| Plot {
        title: format!("{}: {}", sheet.workload, metric.name),
        key: wording::key(&metric.name, metric.direction, rounds(sheet)),
        description,
        drawing: rows::draw(&rows, &metric.unit, WIDTH),
    })
}

/// The percentiles of each target, for each set of percentiles that the row has.
fn spreads(sheet: &Sheet) -> Vec<Plot> {
    let mut sets = Vec::<(&str, Vec<(usize, &str)>)>::new();
    for (index, metric) in sheet.measured().filter(|(i, _)| sheet.lacking(*i).is_none()) {
        let (of, name) = metric.name.rsplit_once('-').unwrap_or(("", &metric.name));
        let number = name.strip_prefix('p').unwrap_or_default().parse::<f64>();
        if name != "max" && !number.is_ok_and(|number| (0.0..100.0).contains(&number)) {
            continue;
        }
        match sets.iter_mut().find(|(other, _)| *other == of) {
            Some((_, set)) => set.push((index, name)),
            None => sets.push((of, vec![(index, name)])),
        }
    }
    // One value is no distribution.
    sets.retain(|(_, set)| set.len() > 1);
    sets.iter().filter_map(|(of, set)| spread(sheet, of, set)).collect()
}

/// These percentiles of each target, the best first.
fn spread(sheet: &Sheet, of: &str, set: &[(usize, &str)]) -> Option<Plot> {
    let first = &sheet.metrics[set[0].0];
    let order = set.iter().find(|(_, name)| *name == "p50").unwrap_or(&set[0]).0;
    let row = |(lane, _): (&Lane, _)| {
        let values = set.iter().filter_map(|(index, name)| {
            Some(((*name).to_owned(), middle(&lane.samples(*index)).filter(|value| *value > 0.0)?))
        });
        row(sheet, lane, String::new(), Marks::Spread(values.collect()))
    };
    let rows = table::lines(sheet, order).into_iter().map(row);
    let rows: Vec<_> = rows
        .filter(|row| matches!(&row.marks, Marks::Spread(values) if !values.is_empty()))
        .collect();
    let named = rows.iter().take(NAMED).map(|row| match &row.marks {
        Marks::Spread(values) => {
            let values = values
                .iter()
                .map(|(name, value)| format!("{name} {}", quantity::short(*value, &first.unit)));
            format!("{} {}", row.name, values.collect::<Vec<_>>().join(", "))
        }
        Marks::Bar { .. } => String::new(),
    });
    let description = format!("{} distributions: {}", rows.len(), list(named, rows.len()));
    let marks: Vec<_> = set.iter().map(|(_, name)| format!("{} {name}", glyph(name))).collect();
    let what =
        if of.is_empty() { "distribution".to_owned() } else { format!("{of}, distribution") };
    (!rows.is_empty()).then(|| Plot {
        title: format!("{}: {what}", sheet.workload),
        key: format!("{}; less is better, logarithmic axis", marks.join("  ")),
        description,
        drawing: rows::draw(&rows, &first.unit, WIDTH),
    })
}

/// A target with these marks.
fn row(sheet: &Sheet, lane: &Lane, value: String, marks: Marks) -> Row {
    let is_own = sheet.is_own(lane);
    Row { name: lane.name.clone(), value, is_own, marks }
}

/// Items of a sentence, and that there are more.
fn list(items: impl Iterator<Item = String>, all: usize) -> String {
    let more = all.checked_sub(NAMED).filter(|more| *more > 0).map(|more| format!("{more} more"));
    items.chain(more).collect::<Vec<_>>().join("; ")
}

/// The sweeps among the rows of a workload: rows that differ in one option only, which has several numbers.
pub(super) fn sweeps(sheets: &[&Sheet]) -> Vec<Plot> {
    let mut options = Vec::<&String>::new();
    for option in sheets.iter().flat_map(|sheet| sheet.params.keys()) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    options.into_iter().flat_map(|option| sweeps_over(sheets, option)).collect()
}

/// Those over this option.
fn sweeps_over(sheets: &[&Sheet], option: &str) -> Vec<Plot> {
    /// The other options, the metric, and each value of the option with its row.
    type Group<'a> = (Params, &'a str, Vec<(f64, &'a Sheet)>);
    let (mut groups, mut places) = (Vec::<Group<'_>>::new(), HashMap::new());
    for sheet in sheets {
        let number = sheet.params.get(option).map(workload::word).and_then(|v| v.parse().ok());
        let metric = sheet.metrics.get(sheet.headline);
        let Some((number, metric)) = number.filter(|n: &f64| n.is_finite()).zip(metric) else {
            continue;
        };
        let others = sheet.params.iter().filter(|(name, _)| *name != option);
        let others: Params = others.map(|(name, value)| (name.clone(), value.clone())).collect();
        let place = places.entry((workload::line(&others), &metric.name)).or_insert(groups.len());
        if *place == groups.len() {
            groups.push((others, &metric.name, Vec::new()));
        }
        groups[*place].2.push((number, sheet));
    }
    groups.retain(|(_, _, rows)| rows.len() > 1);
    // The others in which sweeps differ say which is which.
    let differ =
        |name: &String| groups.iter().any(|group| group.0.get(name) != groups[0].0.get(name));
    let plot = |(others, metric, rows): &Group<'_>| {
        let which = others.iter().filter(|(name, _)| differ(name));
        let which = which.map(|(name, value)| (name.clone(), value.clone())).collect();
        sweep(option, &workload::line(&which), metric, rows)
    };
    groups.iter().map(plot).collect()
}

/// A line for each target over the values of an option.
fn sweep(option: &str, which: &str, metric: &str, rows: &[(f64, &Sheet)]) -> Plot {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lines = Vec::<Line>::new();
    for (number, sheet) in &rows {
        for lane in &sheet.lanes {
            let Some(value) = middle(&lane.samples(sheet.headline)) else { continue };
            match lines.iter_mut().find(|line| line.name == lane.name) {
                Some(line) => line.points.push((*number, value)),
                None => lines.push(Line {
                    name: lane.name.clone(),
                    is_own: sheet.is_own(lane),
                    points: vec![(*number, value)],
                }),
            }
        }
    }
    let first = rows[0].1;
    let headline = &first.metrics[first.headline];
    let numbers: Vec<_> = rows.iter().map(|(number, _)| number.to_string()).collect();
    let named = lines.iter().take(NAMED).map(|line| {
        let values = line.points.iter().map(|point| quantity::short(point.1, &headline.unit));
        format!("{} {}", line.name, values.collect::<Vec<_>>().join(", "))
    });
    let description = format!(
        "{} lines over {option} {}: {}",
        lines.len(),
        numbers.join(", "),
        list(named, lines.len())
    );
    let axis = if lines::is_log(&lines) { ", logarithmic axis" } else { "" };
    let which = if which.is_empty() { String::new() } else { format!(" · {which}") };
    Plot {
        title: format!("{}: {metric} over {option}", first.workload),
        key: wording::better(metric, headline.direction) + axis + ", medians" + &which,
        description,
        drawing: lines::draw(&lines, option, &headline.unit, WIDTH),
    }
}
