//! Which plots a row has, and which a sweep.

use std::collections::HashMap;

use super::content::rounds;
use crate::chart::lines::{self, Across, Line};
use crate::chart::rows::{self, Row};
use crate::chart::{Drawing, wording};
use crate::report::quantity;
use crate::report::results::{BEYOND, Lane, Sheet};
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
    let sets = sheet.sets().into_iter().enumerate();
    let distributions = sets.filter_map(|(place, (of, set))| distribution(sheet, place, of, &set));
    bars(sheet).into_iter().chain(distributions).collect()
}

/// A bar for each target, if one has a number.
fn bars(sheet: &Sheet) -> Option<Plot> {
    let metric = sheet.metrics.get(sheet.headline)?;
    let row = |(lane, [value, ..]): (&Lane, [String; 5])| {
        let samples = lane.samples(sheet.headline);
        let range = samples
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
        let length = middle(&samples).unwrap_or_default();
        let (name, is_own, interval) = (lane.name.clone(), sheet.is_own(lane), interval(&samples));
        Row { name, value, is_own, length, range, interval }
    };
    let rows: Vec<_> = table::lines(sheet, sheet.headline).into_iter().map(row).collect();
    let named = rows.iter().take(NAMED).map(|row| format!("{} {}", row.name, row.value));
    let description = format!("{} bars, the best first: {}", rows.len(), list(named, rows.len()));
    (!rows.is_empty()).then(|| Plot {
        title: format!("{}: {}", sheet.workload, metric.name),
        key: wording::key(&metric.name, metric.direction, rounds(sheet)),
        description,
        drawing: rows::draw(&rows, WIDTH),
    })
}

/// The share beyond from which on a point is not near the end.
const CENTRE: f64 = 0.1;

/// Shares of the values, each with the seconds beyond which it is; only of these percentiles where a file has no more.
fn points(lane: &Lane, place: usize, shown: &[&(usize, &str)]) -> Vec<(f64, f64)> {
    let Some(all) = lane.distributions.get(place) else {
        let point = |(index, name): &&(usize, &str)| {
            let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
            Some((1.0 - percent / 100.0, middle(&lane.samples(*index))?))
        };
        let points = shown.iter().filter_map(point);
        return points.filter(|(share, _)| *share > 0.0 && *share <= 1.0).collect();
    };
    let values = all.values() as f64;
    let mut points: Vec<_> = all.points().collect();
    let greatest = points.pop().map(|(_, seconds)| (1.0 / values, seconds));
    points.retain(|(share, _)| *share >= CENTRE || share * values >= BEYOND);
    points.extend(greatest);
    points
}

/// A line for each target over the shares of its values, the best median first.
fn distribution(sheet: &Sheet, place: usize, of: &str, set: &[(usize, &str)]) -> Option<Plot> {
    let shown: Vec<_> = set.iter().filter(|(i, _)| sheet.lacking(*i).is_none()).collect();
    let &&(first, _) = shown.first()?;
    let unit = &sheet.metrics[first].unit;
    let line = |(lane, _): (&Lane, _)| {
        let points = points(lane, place, &shown).into_iter();
        let points: Vec<_> = points.map(|(share, value)| (1.0 / share, value)).collect();
        let (name, is_own) = (lane.name.clone(), sheet.is_own(lane));
        let has_marks = lane.distributions.get(place).is_none();
        (!points.is_empty()).then_some(Line { name, is_own, points, has_marks })
    };
    let lanes = table::lines(sheet, first);
    let lines: Vec<_> = lanes.iter().cloned().filter_map(line).collect();
    // One value is no distribution.
    lines.iter().any(|line| line.points.len() > 1).then_some(())?;
    let named = lanes.iter().take(NAMED).map(|(lane, _)| {
        let values = shown.iter().filter_map(|(index, name)| {
            Some(format!("{name} {}", quantity::short(middle(&lane.samples(*index))?, unit)))
        });
        format!("{} {}", lane.name, values.collect::<Vec<_>>().join(", "))
    });
    let description = format!("{} distributions: {}", lines.len(), list(named, lines.len()));
    let values = sheet.values_behind().unwrap_or_else(|| "all values".to_owned());
    let values = values.trim_start_matches("of ");
    let has = |marks: bool| lines.iter().any(|line| line.has_marks == marks);
    let marks = [
        (has(false), format!("{values} of all rounds, ● the greatest")),
        (has(true), "● at each percentile: medians of the rounds".to_owned()),
    ];
    let marks: Vec<_> = marks.into_iter().filter_map(|(is, words)| is.then_some(words)).collect();
    let what =
        if of.is_empty() { "distribution".to_owned() } else { format!("{of}, distribution") };
    Some(Plot {
        title: format!("{}: {what}", sheet.workload),
        key: format!("less is better, logarithmic axes · {}", marks.join("; ")),
        description,
        drawing: lines::draw(&lines, Across::Shares, unit, WIDTH),
    })
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
                    has_marks: true,
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
        drawing: lines::draw(&lines, Across::Option(option), &headline.unit, WIDTH),
    }
}
