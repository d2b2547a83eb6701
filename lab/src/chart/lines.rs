//! A line for each target: over an option of which a sweep tried several values, or over the shares of a distribution.

use maud::html;

use super::axis::Axis;
use super::text::{LONGEST, SIZE, label, round, text, widest, width};
use super::theme::LINES;
use super::{Drawing, ticks};

/// Height of the axes, unless the names of the lines need more.
const HEIGHT: f64 = 190.0;
/// Height of the name of a line.
const NAME: f64 = 14.0;
/// Space between the end of a line and its name, in which the two are connected.
const LEADER: f64 = 24.0;
/// Kinds of dashes: the first is none.
const DASHES: usize = 3;
/// From this ratio of the greatest to the least on, an axis is logarithmic.
const FAR: f64 = 16.0;

/// One target.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its name.
    pub(crate) name: String,
    /// Whether it is brigade.
    pub(crate) is_own: bool,
    /// Places across in ascending order, each with what was measured. There is one at least.
    pub(crate) points: Vec<(f64, f64)>,
    /// Whether each of these has a mark, and not the last alone.
    pub(crate) has_marks: bool,
}

/// What is across.
#[derive(Clone, Copy)]
pub(crate) enum Across<'a> {
    /// The values of this option.
    Option(&'a str),
    /// Shares of all values: one over the share that is beyond a point.
    Shares,
}

/// The percentiles below an axis.
const PERCENTILES: [(f64, &str); 7] = [
    (2.0, "p50"),
    (1e1, "p90"),
    (1e2, "p99"),
    (1e3, "p99.9"),
    (1e4, "p99.99"),
    (1e5, "p99.999"),
    (1e6, "p99.9999"),
];

impl Across<'_> {
    /// What may be written below points at these places, each with its place.
    fn labels(self, places: impl Iterator<Item = f64> + Clone) -> Vec<(f64, String)> {
        match self {
            Across::Option(_) => {
                let mut values: Vec<_> = places.collect();
                values.sort_by(f64::total_cmp);
                values.dedup();
                values.into_iter().map(|value| (value, short(value))).collect()
            }
            Across::Shares => {
                let most = places.fold(0.0, f64::max);
                let known = PERCENTILES.into_iter().filter(|(place, _)| *place <= most);
                known.map(|(place, name)| (place, name.to_owned())).collect()
            }
        }
    }
}

/// Whether what was measured is on a logarithmic axis.
pub(crate) fn is_log(lines: &[Line]) -> bool {
    is_far(lines.iter().flat_map(|line| &line.points).map(|point| point.1))
}

/// Whether the greatest of `values` is far from the least.
fn is_far(values: impl Iterator<Item = f64> + Clone) -> bool {
    let least = values.clone().fold(f64::MAX, f64::min);
    least > 0.0 && values.fold(0.0, f64::max) / least >= FAR
}

/// These targets; what is across is written below the axis.
pub(crate) fn draw(lines: &[Line], across: Across<'_>, unit: &str, width: f64) -> Drawing {
    let points = lines.iter().flat_map(|line| line.points.iter().copied());
    let (xs, ys) = (points.clone().map(|point| point.0), points.map(|point| point.1));
    let (title, is_of_shares) = match across {
        Across::Option(option) => (option, false),
        Across::Shares => ("share of the values", true),
    };
    let names: Vec<_> = lines.iter().map(|line| label(&line.name, LONGEST)).collect();
    let height = HEIGHT.max(NAME * (lines.len() as f64 + 1.0));
    // The ticks are as many wherever the axis is, and their width says where that is.
    let is_tall = is_of_shares || is_log(lines);
    let tall = |places| {
        if is_tall { Axis::log(ys.clone(), places) } else { Axis::linear(ys.clone(), places) }
    };
    let labels: Vec<_> =
        tall((0.0, 0.0)).ticks(6).into_iter().map(|tick| ticks(tick, unit)).collect();
    let start = round(widest(labels.iter().map(|label| (label, false))) + 8.0);
    let end = round(
        width - widest(names.iter().zip(lines.iter().map(|line| line.is_own))) - LEADER - 4.0,
    );
    let x = |places| {
        if is_of_shares || is_far(xs.clone()) {
            Axis::log(xs.clone(), places)
        } else {
            Axis::linear(xs.clone(), places)
        }
    };
    let (x, y) = (x((start, end - 6.0)), tall((height, 10.0)));
    let point = |(a, b): (f64, f64)| (round(x.at(a)), round(y.at(b)));
    let last = |line: &Line| line.points.last().map_or((start, height), |last| point(*last));
    let places = spaced(&lines.iter().map(|line| last(line).1).collect::<Vec<_>>(), height);
    // Of each side as many as there are before it: brigade has one colour, and all have dashes.
    let hue = |(index, line): (usize, &Line)| {
        let before = lines[..index].iter().filter(|other| other.is_own == line.is_own).count();
        match line.is_own {
            true => format!("hue dash-{}", before % DASHES),
            false => format!("hue-{} dash-{}", before % LINES, before / LINES % DASHES),
        }
    };
    let hues: Vec<_> = lines.iter().enumerate().map(hue).collect();
    let body = html! {
        @for (tick, label) in y.ticks(6).into_iter().zip(&labels) {
            path class="grid" d={ "M" (start) " " (round(y.at(tick))) "H" (end) } {}
            (text(label, "tick", "end", (start - 6.0, y.at(tick) + 4.0)))
        }
        path class="axis" d={ "M" (start) " " (height) "H" (end) } {}
        @for (name, room) in apart(&across.labels(xs), &x) {
            path class="axis" d={ "M" (room) " " (height) "v5" } {}
            (text(name, "tick", "middle", (room, height + 5.0 + SIZE)))
        }
        (text(title, "tick", "middle", ((start + end) / 2.0, height + 10.0 + 2.0 * SIZE)))
        @for ((line, name), (hue, place)) in lines.iter().zip(&names).zip(hues.iter().zip(&places)) {
            @let class = if line.is_own { "own" } else { "" };
            @let (from, level) = last(line);
            @let points = line.points.iter().map(|at| point(*at)).collect::<Vec<_>>();
            @let marked = if line.has_marks { &points[..] } else { &points[points.len().saturating_sub(1)..] };
            g class=(hue) {
                polyline class={ "line " (class) }
                    points=(points.iter().map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ")) {}
                @for (x, y) in marked { circle class="dot" cx=(x) cy=(y) r="3.5" {} }
                path class="line leader"
                    d={ "M" (from + 4.0) " " (level) "L" (end + LEADER - 10.0) " " (round(*place)) "h6" } {}
            }
            (text(name, class, "start", (end + LEADER, place + 4.0)))
        }
    };
    Drawing { body, width, height: height + 14.0 + 2.0 * SIZE }
}

/// Places for names as near to these as they can be without overlapping, in the same order from above.
fn spaced(wanted: &[f64], height: f64) -> Vec<f64> {
    let mut order: Vec<_> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut places = wanted.to_vec();
    let mut least = 6.0;
    for &index in &order {
        places[index] = places[index].max(least);
        least = places[index] + NAME;
    }
    let mut most = height;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - NAME;
    }
    places
}

/// Those of `labels` that have room on the axis, each with its place.
fn apart<'a>(labels: &'a [(f64, String)], axis: &Axis) -> Vec<(&'a str, f64)> {
    let mut shown = Vec::<(&str, f64)>::new();
    for (value, label) in labels {
        let place = round(axis.at(*value));
        let room = width(label, false);
        if shown.last().is_none_or(|(_, last)| place - last >= room + 8.0) {
            shown.push((label, place));
        }
    }
    shown
}

/// A value of an option.
fn short(value: f64) -> String {
    if value.abs() >= 1e5 { format!("{value:e}") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::{NAME, spaced};

    #[test]
    fn names_keep_their_order_and_do_not_overlap() {
        for wanted in [&[50.0, 50.0, 50.0, 10.0][..], &[200.0; 12], &[0.0; 12], &[]] {
            let places = spaced(wanted, 200.0);
            let mut sorted = places.clone();
            sorted.sort_by(f64::total_cmp);
            assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= NAME - 1e-9), "{places:?}");
            assert!(sorted.iter().all(|place| (0.0..=200.0).contains(place)), "{places:?}");
        }
        assert_eq!(spaced(&[100.0, 20.0], 200.0), [100.0, 20.0]);
    }
}
