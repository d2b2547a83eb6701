//! A bar chart of a result file, as an SVG picture for a page.
//!
//! It shows what one table shows of one metric: a bar for each target, the best first. A file inside imports from
//! those above it: `selection`, `wording`, `theme`, `picture`.

mod picture;
mod selection;
mod theme;
mod wording;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use self::picture::{Bar, Picture};
use self::selection::{Selection, Wanted};
use self::theme::Theme;
use crate::recorded::{Machine, Outcome, Recorded};
use crate::report::destination::{Destination, path};
use crate::report::quantity;
use crate::stop::Stop;

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
    // None of these says anything of a chart, and all subcommands have them.
    #[arg(
        long, value_name = "PATH", value_parser = path(),
        conflicts_with_all = ["target", "rounds", "json", "seed", "hogs", "pin", "patience", "inject"]
    )]
    svg: PathBuf,
    /// The page that the chart is for.
    #[arg(long, value_enum, default_value_t = Theme::Light)]
    theme: Theme,
    /// Replace the chart if there is one.
    // It takes the place of the one for all subcommands, which needs `--json`.
    #[arg(long)]
    force: bool,
}

/// Reads a value of `--where`.
fn option(text: &str) -> Result<(String, String), String> {
    let option = text.split_once('=');
    let option = option.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    option
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "must be OPTION=VALUE, as in threads=2".to_owned())
}

impl Chart {
    /// Draws it, and writes it to where it goes.
    pub(crate) fn draw(&self) -> Result<(), Stop> {
        if same(&self.results, &self.svg) {
            return Err(Stop::Usage("--svg must not be the result file".to_owned()));
        }
        let destination = Destination::open(Some(&self.svg), self.force)?;
        let recorded = Recorded::read(&self.results)?;
        let wanted = Wanted {
            workload: &self.workload,
            metric: self.metric.as_deref(),
            targets: &self.targets,
            options: &self.options,
        };
        let selection = Selection::of(&recorded, &wanted).map_err(Stop::Usage)?;
        let picture = picture(&selection, &recorded.machine, self.title.as_deref());
        destination.write(picture.draw(&self.theme.colours()).as_bytes())
    }
}

/// Whether both paths lead to one file that exists.
fn same(one: &Path, other: &Path) -> bool {
    let real = |path| fs::canonicalize(path).ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}

/// What `selection` looks like.
fn picture(selection: &Selection<'_>, machine: &Machine, title: Option<&str>) -> Picture {
    let bar = |result: &&Outcome| Bar {
        name: result.target.clone(),
        value: quantity::full(result.median, &result.unit),
        is_own: is_own(&result.target),
        length: result.median,
        range: (result.min, result.max),
    };
    let named = selection.bars.first().map(|result| wording::title(result));
    Picture {
        title: title.map(str::to_owned).or(named).unwrap_or_default(),
        key: wording::key(selection),
        bars: selection.bars.iter().map(bar).collect(),
        notes: wording::gaps(selection).into_iter().chain(wording::origin(machine)).collect(),
        command: wording::command(selection, machine),
    }
}

/// Whether a target of this name is brigade, in whatever configuration.
fn is_own(target: &str) -> bool {
    target.strip_prefix("brigade").is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
