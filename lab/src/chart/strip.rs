//! A ratio with its interval, beside the middle of a line that is 1.

use maud::{Markup, html};

use super::axis::Axis;
use super::text::round;

/// The ratio at the end of the line; at its start is the inverse.
const MOST: f64 = 8.0;

/// This ratio, for a cell of a table that also has it in words.
pub(crate) fn strip(low: f64, middle: f64, high: f64) -> Markup {
    let axis = Axis::log([1.0 / MOST, MOST].into_iter(), (4.0, 116.0));
    let [one, low, middle, high] = [1.0, low, middle, high].map(|ratio| round(axis.at(ratio)));
    html! {
        svg class="strip" viewBox="0 0 120 16" aria-hidden="true" {
            path class="grid" d={ "M" (one) " 0v16M4 8H116" } {}
            path class="range" d={ "M" (low) " 8H" (high) } {}
            circle cx=(middle) cy="8" r="4" {}
        }
    }
}
