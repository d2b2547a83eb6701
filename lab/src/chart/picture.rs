//! Where everything stands in a chart. Text remains text, in whatever font the reader has.

use svg::node::Text;
use svg::node::element::{Element, Line, Rectangle, Title};
use svg::{Document, Node};

use super::theme::Colours;

/// Width of a chart; the height follows from what is in it.
const WIDTH: f64 = 720.0;
/// Free space at each side.
const MARGIN: f64 = 16.0;
/// Height of a bar's row, and of the bar in it.
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
/// Space between a name and its bar, and between a bar and its value.
const GAP: f64 = 10.0;
/// Half the height of the ends of a whisker.
const CAP: f64 = 4.0;
/// Characters of a name or a value at most: they are on one line.
const LONGEST: usize = 32;

/// Fonts of a reader's system, and a generic one.
const SANS: &str = "system-ui, Segoe UI, Helvetica, Arial, sans-serif";
const MONOSPACE: &str = "ui-monospace, Menlo, Consolas, monospace";

/// How a text is set.
#[derive(Clone, Copy)]
struct Style {
    /// The font's name.
    font: &'static str,
    /// The font's size.
    size: f64,
    /// The font's weight.
    weight: u32,
    /// Width of a character over the size. Wide, for the reader's font is not known here.
    aspect: f64,
}

const HEADING: Style = Style { font: SANS, size: 17.0, weight: 600, aspect: 0.62 };
const KEY: Style = Style { font: SANS, size: 12.0, weight: 400, aspect: 0.57 };
const LABEL: Style = Style { font: SANS, size: 13.0, weight: 400, aspect: 0.62 };
const NOTE: Style = Style { font: SANS, size: 11.0, weight: 400, aspect: 0.57 };
const CODE: Style = Style { font: MONOSPACE, size: 10.5, weight: 400, aspect: 0.61 };

/// One bar.
#[derive(Debug)]
pub(super) struct Bar {
    /// What stands before it.
    pub(super) name: String,
    /// What stands behind it.
    pub(super) value: String,
    /// Whether it has the accent colour.
    pub(super) is_own: bool,
    /// Its length.
    pub(super) length: f64,
    /// The ends of its whisker.
    pub(super) range: (f64, f64),
}

/// A chart.
#[derive(Debug)]
pub(super) struct Picture {
    /// The heading.
    pub(super) title: String,
    /// How to read the bars.
    pub(super) key: String,
    /// The bars, from above.
    pub(super) bars: Vec<Bar>,
    /// Lines below them.
    pub(super) notes: Vec<String>,
    /// The command, below those.
    pub(super) command: String,
}

impl Picture {
    /// The chart as an SVG document.
    pub(super) fn draw(&self, colours: &Colours) -> String {
        let mut sheet = Sheet { document: Document::new(), y: MARGIN - 4.0 };
        sheet.document = sheet.document.add(Title::new(clean(&self.title)));
        sheet.paragraph(&self.title, HEADING, colours.text);
        sheet.y += 2.0;
        sheet.paragraph(&self.key, KEY, colours.muted);
        sheet.y += GAP;
        sheet.bars(&self.bars, colours);
        sheet.y += GAP / 2.0;
        for note in &self.notes {
            sheet.paragraph(note, NOTE, colours.muted);
        }
        sheet.paragraph(&self.command, CODE, colours.muted);
        let height = (sheet.y + MARGIN).ceil();
        let document = sheet.document.set("role", "img").set("viewBox", (0, 0, WIDTH, height));
        format!("{}\n", document.set("width", WIDTH).set("height", height))
    }
}

/// A document that is filled from above.
struct Sheet {
    /// What there is.
    document: Document,
    /// Where it ends.
    y: f64,
}

impl Sheet {
    /// Adds lines of text, as many as it takes.
    fn paragraph(&mut self, content: &str, style: Style, colour: &str) {
        for line in wrap(&clean(content), columns(style)) {
            self.y += (style.size * 1.4).round();
            let line = text(&line, style, colour, (MARGIN, self.y));
            self.add(line);
        }
    }

    /// Adds the bars.
    fn bars(&mut self, bars: &[Bar], colours: &Colours) {
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| width(&text, LABEL)).fold(0.0, f64::max)
        };
        let start = MARGIN + widest(&mut bars.iter().map(|bar| label(&bar.name))) + GAP;
        let end = WIDTH - MARGIN - GAP - widest(&mut bars.iter().map(|bar| label(&bar.value)));
        let longest = bars.iter().map(|bar| bar.length.max(bar.range.1)).fold(0.0, f64::max);
        // A result may be 0, or below it by a regression; a bar has no length then.
        let at = |value: f64| match longest > 0.0 {
            true => round(start + (end - start) * (value / longest).clamp(0.0, 1.0)),
            false => start,
        };
        let top = self.y;
        for bar in bars {
            self.bar(bar, start, at, colours);
        }
        let axis = line((start, top), (start, self.y)).set("stroke", colours.muted);
        self.add(axis);
    }

    /// Adds one bar with its name, its whisker and its value.
    fn bar(&mut self, bar: &Bar, start: f64, at: impl Fn(f64) -> f64, colours: &Colours) {
        let (middle, end) = (self.y + ROW / 2.0, at(bar.length));
        let (low, high) = (at(bar.range.0), at(bar.range.1));
        let style = if bar.is_own { Style { weight: 600, ..LABEL } } else { LABEL };
        // Letters are centred by their height without descenders.
        let baseline = middle + 4.5;
        let mut name = text(&label(&bar.name), style, colours.text, (start - GAP, baseline));
        name.assign("text-anchor", "end");
        self.add(name);
        self.add(
            Rectangle::new()
                .set("x", start)
                .set("y", middle - BAR / 2.0)
                .set("width", round(end - start))
                .set("height", BAR)
                .set("fill", if bar.is_own { colours.accent } else { colours.bar }),
        );
        if high - low >= 1.0 {
            self.add(line((low, middle), (high, middle)).set("stroke", colours.text));
            for x in [low, high] {
                let cap = line((x, middle - CAP), (x, middle + CAP));
                self.add(cap.set("stroke", colours.text));
            }
        }
        let place = (end.max(high) + GAP, baseline);
        self.add(text(&label(&bar.value), style, colours.text, place));
        self.y += ROW;
    }

    /// Adds an element.
    fn add(&mut self, element: impl Into<Box<dyn Node>>) {
        self.document.append(element);
    }
}

/// A text on one line, also of the file: a line break inside would be a space.
fn text(content: &str, style: Style, colour: &str, (x, y): (f64, f64)) -> Element {
    let mut text = Element::new("text");
    text.append(Text::new(content));
    text.assign("font-family", style.font);
    text.assign("font-size", style.size);
    text.assign("font-weight", style.weight);
    text.assign("fill", colour);
    text.assign("x", round(x));
    text.assign("y", y);
    text
}

/// A line that has no colour yet.
fn line(from: (f64, f64), to: (f64, f64)) -> Line {
    Line::new()
        .set("stroke-width", 1.5)
        .set("x1", from.0)
        .set("y1", from.1)
        .set("x2", to.0)
        .set("y2", to.1)
}

/// `value` in two decimals.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// `text` without what XML does not allow.
fn clean(text: &str) -> String {
    let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if allowed(c) { c } else { ' ' }).collect()
}

/// `text` cleaned, and cut if it is too long for a name or a value.
fn label(text: &str) -> String {
    let text = clean(text);
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some(_) => text.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}

/// Width that `text` has at most, in common fonts.
fn width(text: &str, style: Style) -> f64 {
    let columns = text.chars().map(|c| if c.is_ascii() { style.aspect } else { 1.0 });
    round(columns.sum::<f64>() * style.size)
}

/// Characters that fit in a line.
fn columns(style: Style) -> usize {
    ((WIDTH - 2.0 * MARGIN) / (style.aspect * style.size)) as usize
}

/// `text` in lines of so many characters at most, broken behind a space or a comma where there is one.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while let Some((limit, _)) = rest.char_indices().nth(columns) {
        // A space may also be what follows the line.
        let end = limit + rest[limit..].chars().next().map_or(0, char::len_utf8);
        let space = rest[..end].rfind(' ').filter(|&space| space > 0);
        let comma = || rest[..limit].rfind(',').map(|comma| comma + 1);
        let (line, next) = rest.split_at(space.or_else(comma).unwrap_or(limit));
        lines.push(line.trim_end().to_owned());
        rest = next.trim_start();
    }
    lines.extend((!rest.is_empty()).then(|| rest.to_owned()));
    lines
}

#[cfg(test)]
mod tests {
    use super::{Bar, Picture, clean, wrap};
    use crate::chart::theme::Theme;

    /// A chart of these lengths.
    fn drawn(lengths: &[f64]) -> String {
        let bar = |&length: &f64| Bar {
            name: "pool <a> & \"b\"".to_owned(),
            value: "1 s".to_owned(),
            is_own: false,
            length,
            range: (length / 2.0, length * 2.0),
        };
        let picture = Picture {
            title: "a\u{0}title".to_owned(),
            key: "key".to_owned(),
            bars: lengths.iter().map(bar).collect(),
            notes: vec!["note".to_owned()],
            command: "command ".repeat(100),
        };
        picture.draw(&Theme::Dark.colours())
    }

    #[test]
    fn lines_are_broken_at_spaces_then_at_commas_then_anywhere() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("one,two,three", 8), ["one,two,", "three"]);
        assert_eq!(wrap("××××××", 4), ["××××", "××"]);
        assert!(wrap("  ", 4).is_empty());
    }

    #[test]
    fn text_is_escaped_and_has_no_control_characters() {
        let picture = drawn(&[1.0]);
        assert!(picture.contains("pool &lt;a&gt; &amp; \"b\""), "{picture}");
        assert!(picture.contains("<title>a title</title>"), "{picture}");
        assert_eq!(clean("a\n\u{ffff}é"), "a  é");
    }

    #[test]
    fn no_length_leaves_the_picture() {
        for lengths in [&[0.0, 0.0][..], &[-1.0, 2.0], &[1e308, 1e-308]] {
            let picture = drawn(lengths);
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
            for part in picture.split("width=\"").skip(1) {
                let width: f64 =
                    part.split('"').next().and_then(|w| w.parse().ok()).expect("width");
                assert!((0.0..=720.0).contains(&width), "{width}");
            }
        }
    }
}
