//! Text in a drawing. It remains text, in whatever font the reader has, so that its width is an estimate.

use maud::{Markup, html};

/// Size of names, values and ticks.
pub(super) const SIZE: f64 = 12.0;
/// Width of a character over its size, and that of a bold one. Wide, for the reader's font is not known here.
const ASPECT: f64 = 0.6;
const BOLD: f64 = 0.66;
/// Characters of a name or a value at most.
pub(super) const LONGEST: usize = 22;
/// The same in a font whose characters are all of one width.
pub(super) const MONOSPACE: f64 = 0.61;

/// A text on one line, in the style of this class; `anchor` is the point's place in it.
pub(super) fn text(content: &str, class: &str, anchor: &str, (x, y): (f64, f64)) -> Markup {
    html! { text class=(class) text-anchor=(anchor) x=(round(x)) y=(round(y)) { (content) } }
}

/// `value` in one decimal, which is a hundredth of a millimetre.
pub(super) fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// `text` without what XML does not allow.
pub(super) fn clean(text: &str) -> String {
    let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if allowed(c) { c } else { ' ' }).collect()
}

/// `text` cleaned, and cut if it is longer than this.
pub(super) fn label(text: &str, longest: usize) -> String {
    let text = clean(text);
    match text.char_indices().nth(longest) {
        None => text,
        Some(_) => text.chars().take(longest - 1).chain(['…']).collect(),
    }
}

/// Width that `text` has at most, in common fonts.
pub(super) fn width(text: &str, is_bold: bool) -> f64 {
    let aspect = if is_bold { BOLD } else { ASPECT };
    text.chars().map(|c| if c.is_ascii() { aspect } else { 1.0 }).sum::<f64>() * SIZE
}

/// The width of the widest, each with whether it is bold.
pub(super) fn widest<'a>(texts: impl Iterator<Item = (&'a String, bool)>) -> f64 {
    texts.map(|(text, is_bold)| width(text, is_bold)).fold(0.0, f64::max)
}

/// `text` in lines of this width at most, broken behind a space or a comma where there is one.
pub(super) fn wrap(text: &str, width: f64, size: f64, aspect: f64) -> Vec<String> {
    let columns = (width / (size * aspect)) as usize;
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
    use super::{clean, wrap};

    #[test]
    fn lines_are_broken_at_spaces_then_at_commas_then_anywhere() {
        let wrap = |text, columns: usize| wrap(text, columns as f64, 1.0, 1.0);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("one,two,three", 8), ["one,two,", "three"]);
        assert_eq!(wrap("××××××", 4), ["××××", "××"]);
        assert!(wrap("  ", 4).is_empty());
    }

    #[test]
    fn no_control_character_is_left() {
        assert_eq!(clean("a\n\u{ffff}é"), "a  é");
    }
}
