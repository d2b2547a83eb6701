//! A bar chart that stands alone: its heading above it, and below it where the numbers come from.

use maud::{Markup, PreEscaped, html};

use super::rows::{self, Row};
use super::text::{MONOSPACE, clean, wrap};
use super::theme::Theme;

/// Width of a chart; the height follows from what is in it.
const WIDTH: f64 = 720.0;
/// Free space at each side.
const MARGIN: f64 = 16.0;
/// Space around the bars.
const GAP: f64 = 10.0;

/// Fonts of the texts around the bars.
const STYLE: &str = ".plot .heading{font-size:17px;font-weight:600}.plot .key{fill:var(--muted)}\
    .plot .note{font-size:11px;fill:var(--muted)}\
    .plot .code{font:10.5px ui-monospace,Menlo,Consolas,monospace;fill:var(--muted)}";

/// A chart.
#[derive(Debug)]
pub(super) struct Picture {
    /// The heading.
    pub(super) title: String,
    /// How to read the bars.
    pub(super) key: String,
    /// The bars, from above.
    pub(super) bars: Vec<Row>,
    /// Lines below them.
    pub(super) notes: Vec<String>,
    /// The command, below those.
    pub(super) command: String,
}

impl Picture {
    /// The chart as an SVG document.
    pub(super) fn draw(&self, theme: Theme) -> String {
        let mut y = MARGIN - 4.0;
        let heading = paragraph(&self.title, "heading", (17.0, 0.62), &mut y);
        let key = paragraph(&self.key, "key", (12.0, 0.57), &mut y);
        let bars = rows::draw(&self.bars, WIDTH - 2.0 * MARGIN);
        let top = y + GAP;
        y = top + bars.height + GAP / 2.0;
        let note = |note: &String| paragraph(note, "note", (11.0, 0.57), &mut y);
        let notes: Vec<_> = self.notes.iter().map(note).collect();
        let command = paragraph(&self.command, "code", (10.5, MONOSPACE), &mut y);
        let height = (y + MARGIN).ceil();
        let view = format!("0 0 {WIDTH} {height}");
        let style = theme.style() + &theme.fill(STYLE);
        let document = html! {
            svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" viewBox=(view) width=(WIDTH) height=(height) {
                title { (clean(&self.title)) }
                style { (PreEscaped(style)) }
                (heading) (key)
                g transform={ "translate(" (MARGIN) " " (top) ")" } { (bars.body) }
                @for note in &notes { (note) }
                (command)
            }
        };
        document.into_string() + "\n"
    }
}

/// Lines of text, as many as it takes, in a font of this size and of characters this wide, below `y`.
fn paragraph(content: &str, class: &str, (size, aspect): (f64, f64), y: &mut f64) -> Markup {
    let lines = wrap(&clean(content), WIDTH - 2.0 * MARGIN, size, aspect);
    let placed = lines.into_iter().map(|line| {
        *y += f64::round(size * 1.4);
        (*y, line)
    });
    html! {
        @for (y, line) in placed {
            text class=(class) x=(MARGIN) y=(y) { (line) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Picture;
    use crate::chart::rows::Row;
    use crate::chart::theme::Theme;

    /// A chart of these lengths.
    fn drawn(lengths: &[f64]) -> String {
        let bar = |&length: &f64| Row {
            name: "pool <a> & \"b\"".to_owned(),
            value: "1 s".to_owned(),
            is_own: false,
            length,
            range: (length / 2.0, length * 2.0),
            interval: None,
        };
        let picture = Picture {
            title: "a\u{0}title".to_owned(),
            key: "key".to_owned(),
            bars: lengths.iter().map(bar).collect(),
            notes: vec!["note".to_owned()],
            command: "command ".repeat(100),
        };
        picture.draw(Theme::Dark)
    }

    #[test]
    fn text_is_escaped_and_has_no_control_characters() {
        let picture = drawn(&[1.0]);
        assert!(picture.contains("pool &lt;a&gt; &amp; &quot;b&quot;"), "{picture}");
        assert!(picture.contains("<title>a title</title>"), "{picture}");
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
