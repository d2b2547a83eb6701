//! A picture of a metric of a row: of each target a bar with an interval, the best first.

use crate::report::results::Sheet;
use crate::report::speedup::interval;
use crate::report::table;
use crate::stop::escaped;

/// Width of the picture, where the bars begin, and the length of the longest, in pixels.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 150.0;
const LONGEST: f64 = 400.0;

/// Height of a line, and characters of a note that fit into one.
const LINE: f64 = 24.0;
const LETTERS: usize = 100;

/// Where an interval is cut, over the longest bar: a longer round does not make all bars short.
const FURTHEST: f64 = 1.2;

/// The picture as SVG with this heading and these lines below it; `None` if no target has a number. The whiskers are intervals of 95 %
/// of the medians, of those with five rounds.
pub(crate) fn bars(sheet: &Sheet, metric: usize, title: &str, notes: &[String]) -> Option<String> {
    let bars = table::lines(sheet, metric);
    let most = bars.iter().filter_map(|(lane, _)| lane.median(metric)).reduce(f64::max)?;
    let most = most.max(f64::MIN_POSITIVE);
    let at = |value: f64| LEFT + LONGEST * (value / most).clamp(0.0, FURTHEST);
    let mut shapes = text(WIDTH / 2.0, LINE, "middle", title);
    let mut y = LINE;
    for (lane, [value, ..]) in &bars {
        y += LINE;
        let (middle, median) = (y - 4.0, lane.median(metric).unwrap_or_default());
        let end = at(median);
        let [low, high] = interval(lane.rounds(metric)).unwrap_or([median; 2]).map(at);
        let color = if sheet.is_own(lane) { "#0969da" } else { "#818b98" };
        shapes += &text(LEFT - 8.0, y, "end", &lane.name);
        shapes += &format!(
            "<path stroke=\"{color}\" stroke-width=\"16\" d=\"M{LEFT} {middle}H{end:.1}\"/>\n\
             <path stroke=\"black\" d=\"M{low:.1} {middle}H{high:.1}\"/>\n"
        );
        shapes += &text(high.max(end) + 8.0, y, "start", value);
    }
    for line in notes.iter().flat_map(|note| lines(note)) {
        y += LINE;
        shapes += &text(8.0, y, "start", &line);
    }
    let height = y + LINE;
    Some(escaped(&format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{shapes}</svg>\n"
    )))
}

/// The words of this note, in lines.
fn lines(note: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in note.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => word.clone_into(line),
            Some(line) if line.len() + word.len() < LETTERS => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A line of text, whose beginning, middle or end is there.
fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">\n{text}\n</text>\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_note_breaks_between_words() {
        let long = "x".repeat(99);
        let lines = super::lines(&format!("one two {long} three"));
        assert_eq!(lines, ["one two", &long, "three"]);
    }
}
