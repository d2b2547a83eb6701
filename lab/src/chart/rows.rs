//! Targets below each other: of each a bar from 0 with whiskers.

use maud::{Markup, html};

use super::Drawing;
use super::axis::Axis;
use super::text::{LONGEST, label, round, text, widest};

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
    /// The length of its bar.
    pub(crate) length: f64,
    /// From the least round to the greatest.
    pub(crate) range: (f64, f64),
    /// The interval of the median, if it is known.
    pub(crate) interval: Option<[f64; 2]>,
}

/// These targets, from above.
pub(crate) fn draw(rows: &[Row], width: f64) -> Drawing {
    let longest = if width < WIDE { LONGEST } else { 32 };
    let labels: Vec<_> =
        rows.iter().map(|row| [&row.name, &row.value].map(|text| label(text, longest))).collect();
    let widest = |label: usize| {
        widest(labels.iter().map(|l| &l[label]).zip(rows.iter().map(|row| row.is_own)))
    };
    let (start, end) = (round(widest(0) + GAP), round(width - GAP - widest(1)));
    let most = FURTHEST * rows.iter().map(|row| row.length).fold(0.0, f64::max);
    let values = rows.iter().flat_map(|row| [row.length, row.range.1]);
    let axis = Axis::linear(values.map(|value| value.min(most)), (start, end));
    let height = ROW * rows.len() as f64;
    let body = html! {
        @for (index, (row, [name, value])) in rows.iter().zip(&labels).enumerate() {
            @let middle = ROW * (index as f64 + 0.5);
            @let class = if row.is_own { "own" } else { "" };
            // Letters are centred by their height without descenders.
            @let baseline = middle + 4.0;
            @let (marks, end) = bar(class, &axis, row, middle);
            (text(name, class, "end", (start - GAP, baseline)))
            (marks)
            @if !value.is_empty() { (text(value, class, "start", (end + GAP, baseline))) }
        }
        path class="axis" d={ "M" (start) " 0V" (height) } {}
    };
    Drawing { body, width, height }
}

/// A bar with its range and its whisker, and where they end. One that goes on beyond that has an arrow.
fn bar(class: &str, axis: &Axis, row: &Row, middle: f64) -> (Markup, f64) {
    let Row { length, range, interval, .. } = *row;
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
