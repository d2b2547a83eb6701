//! Colours for a light and a dark page. The chart itself has no background.

use clap::ValueEnum;

/// What kind of page the chart is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    /// A light one, white for example.
    Light,
    /// A dark one, as `#0d1117` is.
    Dark,
}

/// The colours of a chart.
#[derive(Debug)]
pub(super) struct Colours {
    /// Bars of brigade.
    pub(super) accent: &'static str,
    /// All other bars.
    pub(super) bar: &'static str,
    /// Heading, names, values and whiskers.
    pub(super) text: &'static str,
    /// What stands around them.
    pub(super) muted: &'static str,
}

impl Theme {
    /// Its colours, those of GitHub's pages: text has a contrast of 4.5 at least to the page, a bar 3.
    pub(super) fn colours(self) -> Colours {
        match self {
            Theme::Light => {
                Colours { accent: "#0969da", bar: "#818b98", text: "#1f2328", muted: "#59636e" }
            }
            Theme::Dark => {
                Colours { accent: "#4493f8", bar: "#656c76", text: "#f0f6fc", muted: "#9198a1" }
            }
        }
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
        for (theme, page) in [(Theme::Light, "#ffffff"), (Theme::Dark, "#0d1117")] {
            let colours = theme.colours();
            for text in [colours.text, colours.muted] {
                assert!(contrast(text, page) >= 4.5, "{text} on {page}");
            }
            for bar in [colours.accent, colours.bar] {
                assert!(contrast(bar, page) >= 3.0, "{bar} on {page}");
                assert!(contrast(bar, colours.text) >= 2.5, "a whisker on {bar}");
            }
        }
    }
}
