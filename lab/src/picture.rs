//! A picture of a metric of a row: of each target a bar with an interval, the best first.

use std::error::Error;
use std::mem;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::quantity;
use crate::report::results::{Lane, Sheet};
use crate::report::speedup::interval;
use crate::report::table;
use crate::stop::escaped;

/// Width of the picture, height of a row, and width of a character, in pixels.
const WIDTH: u32 = 720;
const ROW: u32 = 26;
const LETTER: u32 = 7;

/// Where the axis ends, over the longest bar: a longer round does not make all bars short.
const FURTHEST: f64 = 1.3;

/// Bars of brigade, and of other targets.
const OWN: RGBColor = RGBColor(9, 105, 218);
const OTHER: RGBColor = RGBColor(129, 139, 152);

/// The picture as SVG with this heading and these lines below it; `None` if no target has a number. The whiskers are intervals of 95 %
/// of the medians, of those with five rounds.
pub(crate) fn bars(sheet: &Sheet, metric: usize, title: &str, notes: &[String]) -> Option<String> {
    let bars = table::lines(sheet, metric);
    let mut svg = String::new();
    let drawn = draw(&mut svg, sheet, metric, &bars, title, notes);
    (!bars.is_empty() && drawn.is_ok()).then(|| escaped(&svg))
}

/// The words of these notes, in lines of up to `most` characters.
fn lines(notes: &[String], most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for note in notes {
        let mut line = String::new();
        for word in note.split_whitespace() {
            if !line.is_empty() && line.len() + 1 + word.len() > most {
                lines.push(mem::take(&mut line));
            }
            let gap = if line.is_empty() { "" } else { " " };
            line += &format!("{gap}{word}");
        }
        lines.push(line);
    }
    lines
}

fn draw(
    svg: &mut String,
    sheet: &Sheet,
    metric: usize,
    bars: &[(&Lane, [String; 5])],
    title: &str,
    notes: &[String],
) -> Result<(), Box<dyn Error>> {
    let most = bars.iter().filter_map(|(lane, _)| lane.median(metric)).fold(0.0, f64::max);
    // A file may have any number, but a bar needs a length.
    let most = if (1e-30..1e30).contains(&most) { most } else { 1.0 };
    let count = bars.len() as u32;
    let longest = bars.iter().map(|(lane, _)| lane.name.chars().count()).max().unwrap_or_default();
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
            bars[(count - 1 - place) as usize].0.name.clone()
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
        .x_label_formatter(&|value| quantity::short(*value, &sheet.metrics[metric].unit))
        .y_label_formatter(&name)
        .draw()?;
    let end = |value: f64| value.clamp(0.0, FURTHEST * most);
    let style = ("sans-serif", 15).into_font().color(&BLACK);
    for ((lane, [value, ..]), place) in bars.iter().zip((0..count).rev()) {
        let [from, to] = [place, place + 1].map(SegmentValue::Exact);
        let length = lane.median(metric).unwrap_or_default();
        let [low, high] = interval(lane.rounds(metric)).unwrap_or([length; 2]).map(end);
        let (length, middle) = (end(length), SegmentValue::CenterOf(place));
        let color = if sheet.is_own(lane) { OWN } else { OTHER };
        let mut bar = Rectangle::new([(0.0, from), (length, to)], color.filled());
        bar.set_margin(4, 4, 0, 0);
        let beside = style.clone().pos(Pos::new(HPos::Left, VPos::Center));
        let text = EmptyElement::at((high.max(length), middle.clone()))
            + Text::new(value.clone(), (8, 0), beside);
        chart.plotting_area().draw(&bar)?;
        if low < high {
            let whisker = ErrorBar::new_horizontal(middle, low, length, high, BLACK, 8);
            chart.plotting_area().draw(&whisker)?;
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
    fn a_note_breaks_between_words() {
        let notes = ["one two three".to_owned(), "a-word-of-its-own".to_owned()];
        let lines = super::lines(&notes, 8);
        assert_eq!(lines, ["one two", "three", "a-word-of-its-own"]);
    }
}
