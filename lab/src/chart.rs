//! The bars of a metric of a result file as an SVG picture for another page.

use std::path::PathBuf;

use clap::Args;

use crate::picture;
use crate::program::word;
use crate::report::destination::Destination;
use crate::report::results::{Results, Sheet};
use crate::stop::Stop;

/// Options of `chart`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Chart {
    /// A result file, as `--json` writes it.
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// The workload to show.
    #[arg(long, value_name = "NAME")]
    workload: String,
    /// The metric to show; without it the compared metric.
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Targets to show, separated by commas; without it all with a number.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    targets: Vec<String>,
    /// Options of the workload's measurement, where the file has several sets of them.
    #[arg(long = "where", value_name = "OPTION=VALUE", value_delimiter = ',')]
    options: Vec<String>,
    /// The heading; without it workload and metric.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Write the chart to this file; `-` is stdout.
    #[arg(long, value_name = "PATH")]
    svg: PathBuf,
}

impl Chart {
    /// Draws it, and writes it to where it goes.
    pub(crate) fn draw(&self, replace: bool) -> Result<(), Stop> {
        let destination = Destination::open(&self.svg, replace)?;
        Stop::usage_if(destination.is_at(&self.results), "--svg must not be the result file")?;
        let results = Results::read(&self.results)?;
        let (sheet, metric) = self.choose(&results.sheets).map_err(Stop::Usage)?;
        let known = &sheet.metrics[metric];
        let title = format!("{}: {}", sheet.workload, crate::report::table::title(known));
        let title = self.title.as_ref().unwrap_or(&title);
        let mut notes = results.machine.describe(false);
        notes.push(results.command(&sheet));
        let svg = picture::bars(&sheet, metric, title, &notes);
        let svg = svg.ok_or_else(|| Stop::Usage(format!("{} has no number", known.name)))?;
        destination.write(svg.as_bytes())
    }

    /// The row and the metric to show, or the choice there is.
    fn choose(&self, sheets: &[Sheet]) -> Result<(Sheet, usize), String> {
        let is_chosen = |row: &&Sheet| {
            let options = row.params.iter().map(|(name, value)| format!("{name}={}", word(value)));
            let options: Vec<_> = options.collect();
            row.workload == self.workload && self.options.iter().all(|one| options.contains(one))
        };
        let chosen: Vec<_> = sheets.iter().filter(is_chosen).collect();
        let [row] = chosen[..] else {
            let all: Vec<_> = sheets.iter().map(Sheet::row).collect();
            let (count, all) = (chosen.len(), all.join("; "));
            return Err(format!(
                "--workload and --where leave {count} rows, and not one, of: {all}"
            ));
        };
        let metric = match &self.metric {
            None => row.headline,
            Some(name) => row.metrics.iter().position(|m| m.name == *name).ok_or_else(|| {
                let all: Vec<_> = row.metrics.iter().map(|metric| &*metric.name).collect();
                format!("{} has no metric {name}; it has {}", self.workload, all.join(", "))
            })?,
        };
        let has = |name: &&String| {
            row.lanes.iter().any(|lane| lane.name == **name && lane.failure.is_none())
        };
        if let Some(name) = self.targets.iter().find(|name| !has(name)) {
            return Err(format!("{} has no result of {name}", self.workload));
        }
        let mut row = Sheet::clone(row);
        row.lanes.retain(|lane| self.targets.is_empty() || self.targets.contains(&lane.name));
        Ok((row, metric))
    }
}
