//! Drawings of results: the plots of a report, and a bar chart of a result file as an SVG picture for another page.
//!
//! The chart shows what one table shows of one metric: a bar for each target, the best first. A file inside imports from
//! those above it: `selection`, `wording`, `theme`, `text`, `axis`, `rows`, `lines`, `strip`, `picture`.

mod axis;
pub(crate) mod lines;
mod picture;
pub(crate) mod rows;
mod selection;
mod strip;
mod text;
pub(crate) mod theme;
pub(crate) mod wording;

use std::path::PathBuf;

use clap::Args;
use maud::{Markup, html};

use self::picture::Picture;
use self::rows::Row;
use self::selection::{Selection, Wanted};
pub(crate) use self::strip::strip;
use self::theme::Theme;
use crate::machine::Machine;
use crate::recorded::Recorded;
use crate::report::destination::{Destination, path, same};
use crate::report::quantity;
use crate::report::results::is_of;
use crate::report::speedup::interval;
use crate::schema::Outcome;
use crate::stop::Stop;

/// A drawing that is part of a picture or of a page.
pub(crate) struct Drawing {
    /// What is in it.
    body: Markup,
    /// Its width.
    width: f64,
    /// Its height.
    height: f64,
}

impl Drawing {
    /// It as an element of a page: an image with this name and description, whose `id` nothing else has.
    pub(crate) fn inline(&self, id: &str, title: &str, description: &str) -> Markup {
        let view = format!("0 0 {} {}", self.width, self.height);
        let (title_id, description_id) = (format!("{id}-title"), format!("{id}-description"));
        html! {
            svg class="plot" role="img" viewBox=(view) aria-labelledby=(title_id) aria-describedby=(description_id) {
                title id=(title_id) { (text::clean(title)) }
                desc id=(description_id) { (text::clean(description)) }
                (self.body)
            }
        }
    }
}

/// `value` at the tick of an axis, without a fraction that is 0.
fn ticks(value: f64, unit: &str) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = quantity::short(value, unit);
    match text.split_once(' ') {
        Some((number, rest)) if number.contains('.') && !number.contains('e') => {
            format!("{} {rest}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// Options of `chart`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Chart {
    /// A result file, as `--json` writes it.
    #[arg(value_name = "RESULTS", value_parser = path())]
    results: PathBuf,
    /// The workload to show.
    #[arg(long, value_name = "NAME")]
    workload: String,
    /// The metric to show; without it the first one that the workload has.
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Targets to show, separated by commas; without it all that have a number.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    targets: Vec<String>,
    /// Options that the workload was measured with, where the file has several sets of them.
    #[arg(long = "where", value_name = "OPTION=VALUE", value_delimiter = ',', value_parser = option)]
    options: Vec<(String, String)>,
    /// The heading; without it workload and metric.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Write the chart to this file; `-` is stdout.
    #[arg(long, value_name = "PATH", value_parser = path())]
    svg: PathBuf,
    /// The page that the chart is for.
    #[arg(long, value_enum, default_value_t = Theme::Light)]
    theme: Theme,
}

/// Reads a value of `--where`.
pub(crate) fn option(text: &str) -> Result<(String, String), String> {
    let option = text.split_once('=');
    let option = option.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    option
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "must be OPTION=VALUE, as in threads=2".to_owned())
}

impl Chart {
    /// Draws it, and writes it to where it goes.
    pub(crate) fn draw(&self, replace: bool) -> Result<(), Stop> {
        if same(&self.results, &self.svg) {
            return Err(Stop::Usage("--svg must not be the result file".to_owned()));
        }
        let destination = Destination::open(&self.svg, replace)?;
        let recorded = Recorded::read(&self.results)?;
        let wanted = Wanted {
            workload: &self.workload,
            metric: self.metric.as_deref(),
            targets: &self.targets,
            options: &self.options,
        };
        let selection = Selection::of(&recorded, &wanted).map_err(Stop::Usage)?;
        let picture = picture(&selection, &recorded.machine, self.title.as_deref());
        destination.write(picture.draw(self.theme).as_bytes())
    }
}

/// What `selection` looks like.
fn picture(selection: &Selection<'_>, machine: &Machine, title: Option<&str>) -> Picture {
    let bar = |result: &&Outcome| Row {
        name: result.target.clone(),
        value: quantity::full(result.median, &result.unit),
        is_own: is_of("brigade", &result.target),
        length: result.median,
        range: (result.min, result.max),
        interval: interval(&result.samples.0),
    };
    let named = selection.bars.first().map(|result| wording::title(result));
    Picture {
        title: title.map(str::to_owned).or(named).unwrap_or_default(),
        key: selection
            .bars
            .first()
            .map(|result| wording::key(&result.metric, result.direction, selection.rounds()))
            .unwrap_or_default(),
        bars: selection.bars.iter().map(bar).collect(),
        notes: wording::gaps(selection).into_iter().chain(wording::origin(machine)).collect(),
        command: selection
            .bars
            .first()
            .map(|result| {
                let targets: Vec<_> = selection.bars.iter().map(|result| &*result.target).collect();
                wording::command(
                    &result.workload,
                    selection.params,
                    selection.rounds(),
                    &targets,
                    machine,
                )
            })
            .unwrap_or_default(),
    }
}
