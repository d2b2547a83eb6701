//! A picture of one metric of one row: of each target a bar with its interval, the best first.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::quantity;
use crate::report::results::{Lane, Sheet};
use crate::report::speedup::interval;
use crate::report::table;
use crate::stats::middle;
use crate::stop::escaped;

/// Width of the picture, height of a row, and width of a character, in pixels.
const WIDTH: u32 = 720;
const ROW: u32 = 26;
const LETTER: u32 = 7;

/// Where the axis ends, over the longest bar: a round that took longer does not make all bars short.
const FURTHEST: f64 = 1.3;

/// Bars of brigade, and of other targets.
const OWN: RGBColor = RGBColor(9, 105, 218);
const OTHER: RGBColor = RGBColor(129, 139, 152);

/// A bar.
struct Bar {
    name: String,
    value: String,
    length: f64,
    interval: [f64; 2],
    color: RGBColor,
}

impl Bar {
    fn of(sheet: &Sheet, metric: usize, lane: &Lane, [value, ..]: [String; 5]) -> Self {
        let samples = lane.samples(metric);
        let length = middle(&samples).unwrap_or_default();
        let color = if sheet.is_own(lane) { OWN } else { OTHER };
        let interval = interval(&samples).unwrap_or([length; 2]);
        Bar { name: lane.name.clone(), value, length, interval, color }
    }
}

/// The picture as SVG with this heading and these lines below it; `None` if no target has a number. The whiskers are intervals of 95 %
/// of the medians, of those with five rounds.
pub(crate) fn bars(sheet: &Sheet, metric: usize, title: &str, notes: &[String]) -> Option<String> {
    let lines = table::lines(sheet, metric).into_iter();
    let bars: Vec<_> = lines.map(|(lane, cells)| Bar::of(sheet, metric, lane, cells)).collect();
    let most = bars.iter().map(|bar| bar.length).fold(0.0, f64::max);
    // A file may have any number, and a bar no length that is none.
    let most = if (1e-30..1e30).contains(&most) { most } else { 1.0 };
    let mut svg = String::new();
    let drawn = draw(&mut svg, &bars, most, title, notes, &sheet.metrics[metric].unit);
    (!bars.is_empty() && drawn.is_ok()).then(|| escaped(&svg))
}

/// The words of these notes, in lines of up to `most` characters.
fn lines(notes: &[String], most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for note in notes {
        lines.push(String::new());
        for word in note.split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.is_empty() => *line = word.to_owned(),
                Some(line) if line.len() + 1 + word.len() <= most => {
                    *line = format!("{line} {word}")
                }
                _ => lines.push(word.to_owned()),
            }
        }
    }
    lines
}

fn draw(
    svg: &mut String,
    bars: &[Bar],
    most: f64,
    title: &str,
    notes: &[String],
    unit: &str,
) -> Result<(), Box<dyn Error>> {
    let count = bars.len() as u32;
    let longest = bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or_default();
    let notes = lines(notes, (WIDTH / LETTER) as usize);
    let height = ROW * (count + 3 + notes.len() as u32);
    let root = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let (plot, below) = root.split_vertically(ROW * (count + 3));
    let mut chart = ChartBuilder::on(&plot)
        .caption(title, ("sans-serif", 20))
        .margin_right(90)
        .x_label_area_size(ROW)
        .y_label_area_size((longest as u32 * LETTER + 12).min(WIDTH / 2))
        .build_cartesian_2d(0.0..FURTHEST * most, (0..count).into_segmented())?;
    let name = |place: &SegmentValue<u32>| match place {
        // The first bar is on top.
        SegmentValue::CenterOf(place) if *place < count => {
            bars[(count - 1 - place) as usize].name.clone()
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_labels(5)
        .x_max_light_lines(1)
        .label_style(("sans-serif", 15))
        .y_labels(bars.len())
        .x_label_formatter(&|value| quantity::short(*value, unit))
        .y_label_formatter(&name)
        .draw()?;
    let end = |value: f64| value.clamp(0.0, FURTHEST * most);
    let style = ("sans-serif", 15).into_font().color(&BLACK);
    for (bar, place) in bars.iter().zip((0..count).rev()) {
        let [from, to] = [place, place + 1].map(SegmentValue::Exact);
        let mut shape = Rectangle::new([(0.0, from), (end(bar.length), to)], bar.color.filled());
        shape.set_margin(4, 4, 0, 0);
        let [low, high] = bar.interval.map(end);
        let middle = SegmentValue::CenterOf(place);
        let beside = style.clone().pos(Pos::new(HPos::Left, VPos::Center));
        let text = EmptyElement::at((high.max(end(bar.length)), middle.clone()))
            + Text::new(bar.value.clone(), (8, 0), beside);
        chart.plotting_area().draw(&shape)?;
        if low < high {
            let bar = ErrorBar::new_horizontal(middle, low, end(bar.length), high, BLACK, 8);
            chart.plotting_area().draw(&bar)?;
        }
        chart.plotting_area().draw(&text)?;
    }
    for (note, line) in notes.iter().zip(0..) {
        below.draw_text(note, &style, (12, line * ROW as i32))?;
    }
    drop(chart);
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_note_is_broken_between_words_and_no_line_is_too_long() {
        let notes = ["one two three".to_owned(), "a-word-of-its-own".to_owned()];
        let lines = super::lines(&notes, 8);
        assert_eq!(lines, ["one two", "three", "a-word-of-its-own"]);
    }
}
