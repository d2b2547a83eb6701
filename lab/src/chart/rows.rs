//! Targets below each other: of each a bar from 0 with whiskers, or its percentiles on a logarithmic axis.

use maud::{Markup, html};

use super::axis::Axis;
use super::text::{LONGEST, SIZE, label, round, text, widest};
use super::{Drawing, ticks};

/// Height of a bar's row, and of the bar in it.
const ROW: f64 = 26.0;
const BAR: f64 = 16.0;
/// Space between a name and its bar, and between a bar and its value.
const GAP: f64 = 8.0;
/// Half the height of the ends of a whisker.
const CAP: f64 = 4.0;

/// From this width on, names may be longer.
const WIDE: f64 = 600.0;
/// Where the picture ends, over the longest bar: a round that took longer does not make all bars short.
const FURTHEST: f64 = 1.6;

/// One target.
#[derive(Debug)]
pub(crate) struct Row {
    /// What stands before its marks.
    pub(crate) name: String,
    /// What stands behind them.
    pub(crate) value: String,
    /// Whether it is brigade.
    pub(crate) is_own: bool,
    /// Its marks.
    pub(crate) marks: Marks,
}

/// The marks of a target.
#[derive(Debug)]
pub(crate) enum Marks {
    /// A bar.
    Bar {
        /// Its length.
        length: f64,
        /// From the least round to the greatest.
        range: (f64, f64),
        /// The interval of the median, if it is known.
        interval: Option<[f64; 2]>,
    },
    /// Percentiles by their names.
    Spread(Vec<(String, f64)>),
}

impl Marks {
    /// Every value.
    fn values(&self) -> Vec<f64> {
        match self {
            Marks::Bar { length, range, .. } => vec![*length, range.1],
            Marks::Spread(values) => values.iter().map(|(_, value)| *value).collect(),
        }
    }
}

/// The character that looks like the mark of this percentile.
pub(crate) fn glyph(percentile: &str) -> char {
    match percentile {
        "p50" => '●',
        "p90" => '◆',
        "p99" => '▲',
        "max" => '×',
        _ => '|',
    }
}

/// These targets, from above.
pub(crate) fn draw(rows: &[Row], unit: &str, width: f64) -> Drawing {
    let longest = if width < WIDE { LONGEST } else { 32 };
    let labels: Vec<_> =
        rows.iter().map(|row| [&row.name, &row.value].map(|text| label(text, longest))).collect();
    let widest = |label: usize| {
        widest(labels.iter().map(|l| &l[label]).zip(rows.iter().map(|row| row.is_own)))
    };
    let is_spread = rows.iter().any(|row| matches!(row.marks, Marks::Spread(_)));
    let places = (
        round(widest(0) + GAP),
        // Half a tick is beyond the last mark.
        round(width - if is_spread { 2.0 * GAP } else { GAP + widest(1) }),
    );
    let values = rows.iter().flat_map(|row| row.marks.values());
    let axis = match is_spread {
        true => Axis::log(values, places),
        false => {
            let longest = rows.iter().filter_map(|row| row.marks.values().first().copied());
            let end = FURTHEST * longest.fold(0.0, f64::max);
            Axis::linear(values.map(|value| value.min(end)), places)
        }
    };
    let height = ROW * rows.len() as f64;
    let (start, bottom) = (places.0, height + if is_spread { 1.5 * SIZE } else { 0.0 });
    let row = |(index, row): (usize, &Row)| {
        let middle = ROW * (index as f64 + 0.5);
        let class = if row.is_own { "own" } else { "" };
        // Letters are centred by their height without descenders.
        let baseline = middle + 4.0;
        let [name, value] = &labels[index];
        let (marks, end) = match &row.marks {
            Marks::Bar { length, range, interval } => {
                bar(class, &axis, *length, *range, *interval, middle)
            }
            Marks::Spread(values) => (spread(class, &axis, values, middle), 0.0),
        };
        html! {
            (text(name, class, "end", (start - GAP, baseline)))
            (marks)
            @if !value.is_empty() { (text(value, class, "start", (end + GAP, baseline))) }
        }
    };
    let body = html! {
        @if is_spread {
            @for tick in axis.ticks(6) {
                path class="grid" d={ "M" (round(axis.at(tick))) " 0V" (height) } {}
                (text(&ticks(tick, unit), "tick", "middle", (axis.at(tick), height + 1.25 * SIZE)))
            }
        }
        @for row in rows.iter().enumerate().map(row) { (row) }
        path class="axis" d={ "M" (start) " 0V" (height) } {}
    };
    Drawing { body, width, height: bottom }
}

/// A bar with its range and its whisker, and where they end. One that goes on beyond that has an arrow.
fn bar(
    class: &str,
    axis: &Axis,
    length: f64,
    range: (f64, f64),
    interval: Option<[f64; 2]>,
    middle: f64,
) -> (Markup, f64) {
    let [start, end, low, high] = [0.0, length, range.0, range.1].map(|v| round(axis.at(v)));
    let (above, below) = (middle - CAP, middle + CAP);
    let arrow = |tip: f64| {
        format!("M{} {above}L{tip} {middle}L{} {below}", round(tip - CAP), round(tip - CAP))
    };
    let whisker = interval.map(|ends| ends.map(|end| round(axis.at(end))));
    let whisker = whisker.filter(|[from, to]| to - from >= 1.0);
    let is_cut = interval.is_some_and(|[_, to]| axis.ends_before(to));
    let body = html! {
        rect class={ "bar " (class) } x=(start) y=(middle - BAR / 2.0) width=(round(end - start)) height=(BAR) {}
        @if high - low >= 1.0 {
            path class="whisker range" d={ "M" (low) " " (middle) "H" (high) @if axis.ends_before(range.1) { (arrow(high)) } } {}
        }
        @if let Some([from, to]) = whisker {
            path class="whisker" d={ "M" (from) " " (above) "V" (below) "M" (from) " " (middle) "H" (to) @if is_cut { (arrow(to)) } @else { "M" (to) " " (above) "V" (below) } } {}
        }
    };
    (body, end.max(high))
}

/// Percentiles, on a line from the least to the greatest.
fn spread(class: &str, axis: &Axis, values: &[(String, f64)], middle: f64) -> Markup {
    let places: Vec<_> =
        values.iter().map(|(name, value)| (name, round(axis.at(*value)))).collect();
    let ends = places.iter().map(|(_, place)| *place);
    let (least, most) = (ends.clone().fold(f64::MAX, f64::min), ends.fold(0.0, f64::max));
    html! {
        g class={ "spread " (class) } {
            path class="range" d={ "M" (least) " " (middle) "H" (most) } {}
            @for (name, x) in places {
                @let from = format!("M{x} {middle}");
                @match glyph(name) {
                    '●' => circle class="solid" cx=(x) cy=(middle) r="5" {},
                    '◆' => path class="solid" d={ (from) "m-5.5 0l5.5-5.5l5.5 5.5l-5.5 5.5z" } {},
                    '▲' => path class="solid" d={ (from) "m-5.5 5l5.5-10l5.5 10z" } {},
                    '×' => path d={ (from) "m-4-4l8 8m0-8l-8 8" } {},
                    _ => path d={ (from) "m0-5v10" } {},
                }
            }
        }
    }
}
