//! Colours for a light and a dark page. A chart itself has no background.

use clap::ValueEnum;

/// What kind of page the chart is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    /// A light one, white for example.
    Light,
    /// A dark one, as `#0d1117` is.
    Dark,
}

/// How everything in a drawing looks, with a variable for each colour.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// The variables of the colours, those of GitHub's pages. Text has a contrast of 4.5 at least to the page, a bar or a line 3.
const COLOURS: [(&str, &str, &str); 15] = [
    ("--page", "#ffffff", "#0d1117"),
    // Panels, and lines that only guide the eye.
    ("--panel", "#f6f8fa", "#151b23"),
    ("--edge", "#d1d9e0", "#3d444d"),
    // Heading, names, values and whiskers, and what stands around them.
    ("--text", "#1f2328", "#f0f6fc"),
    ("--muted", "#59636e", "#9198a1"),
    // Bars and lines of brigade, and all other bars.
    ("--accent", "#0969da", "#4493f8"),
    ("--bar", "#818b98", "#656c76"),
    ("--better", "#1a7f37", "#3fb950"),
    ("--worse", "#bc4c00", "#db6d28"),
    // Lines of others.
    ("--line-0", "#1a7f37", "#3fb950"),
    ("--line-1", "#bc4c00", "#db6d28"),
    ("--line-2", "#8250df", "#ab7df8"),
    ("--line-3", "#bf3989", "#db61a2"),
    ("--line-4", "#9a6700", "#d29922"),
    ("--line-5", "#1b7c83", "#39c5cf"),
];

/// Colours of lines that are not brigade's.
pub(super) const LINES: usize = 6;

impl Theme {
    /// The colours by the names of their variables.
    fn colours(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        COLOURS.into_iter().map(move |(name, light, dark)| match self {
            Theme::Light => (name, light),
            Theme::Dark => (name, dark),
        })
    }

    /// The definitions of the variables, for a page.
    pub(crate) fn variables(self) -> String {
        self.colours().map(|(name, colour)| format!("{name}:{colour};")).collect()
    }

    /// [`STYLE`] with these colours, for a picture that has no page around it.
    pub(super) fn style(self) -> String {
        self.fill(STYLE)
    }

    /// `style` with colours instead of variables.
    pub(super) fn fill(self, style: &str) -> String {
        self.colours().fold(style.to_owned(), |style, (name, colour)| {
            style.replace(&format!("var({name})"), colour)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Theme;

    /// The relative luminance of a colour, as WCAG 2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |index: usize| {
            let value = u8::from_str_radix(&colour[index..index + 2], 16).expect("hexadecimal");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    /// The contrast of two colours, from 1 to 21.
    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        one.max(other) / one.min(other)
    }

    #[test]
    fn every_colour_has_enough_contrast_to_its_page() {
        for theme in [Theme::Light, Theme::Dark] {
            let colour =
                |wanted| theme.colours().find(|(name, _)| *name == wanted).expect("a colour").1;
            for name in ["--text", "--muted", "--accent", "--better", "--worse"] {
                for page in ["--page", "--panel"] {
                    assert!(contrast(colour(name), colour(page)) >= 4.5, "{name} on {page}");
                }
            }
            for (name, colour_of_it) in theme.colours() {
                let is_drawn = name.starts_with("--line") || name == "--bar";
                let contrast = contrast(colour_of_it, colour("--page"));
                assert!(!is_drawn || contrast >= 3.0, "{name}: {contrast}");
            }
            for bar in ["--accent", "--bar"] {
                let contrast = contrast(colour(bar), colour("--text"));
                assert!(contrast >= 2.5, "a whisker on {bar}");
            }
            assert!(!theme.style().contains("var("), "{}", theme.style());
        }
    }
}
