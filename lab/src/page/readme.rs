//! The figures of a README, which stand between two comments and come from a result file.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Parser};

use super::content::Content;
use super::{markdown, read};
use crate::chart::option;
use crate::report::destination::{Destination, path};
use crate::report::quantity;
use crate::report::results::Sheet;
use crate::report::table::{self, Grid};
use crate::stats::middle;
use crate::stop::{Stop, printable};
use crate::workload::{self, word};

/// Options of `readme`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Readme {
    /// A result file, as `--json` writes it.
    #[arg(value_name = "RESULTS", value_parser = path())]
    results: PathBuf,
    /// Files of Markdown with the lines `<!-- figures: NAME -->` and `<!-- /figures -->`, where the result file is NAME.json.
    #[arg(value_name = "README", required = true, value_parser = path())]
    readmes: Vec<PathBuf>,
    /// Write nothing, and fail if there are other figures.
    #[arg(long)]
    check: bool,
}

/// The comments around the figures: the first one goes on with the name of a result file and options, and ends as a comment does.
const BEGIN: &str = "<!-- figures";
const END: &str = "<!-- /figures -->";

/// A place for figures: what its comment says.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Place {
    /// The name of the result file, without its extension; any file if there is none.
    name: Option<String>,
    /// A table of this workload, and not the answer.
    #[arg(long)]
    workload: Option<String>,
    /// Of it, rows with these options.
    #[arg(long = "where", value_name = "OPTION=VALUE", value_delimiter = ',', value_parser = option)]
    options: Vec<(String, String)>,
    /// Of it, rows of these targets, in this order.
    #[arg(long, value_delimiter = ',')]
    targets: Vec<String>,
    /// Its metric, instead of the one that is compared.
    #[arg(long)]
    metric: Option<String>,
}

impl Place {
    /// The one that begins with this line, if one does.
    fn of(line: &str) -> Result<Option<Self>, String> {
        let said = line.trim_end().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix("-->"));
        let Some(said) = said else { return Ok(None) };
        let words = said.trim_start_matches(':').split_whitespace();
        let place = Place::try_parse_from(words).map_err(|error| {
            let reason = error.to_string();
            format!("{}: {}", line.trim_end(), reason.lines().next().unwrap_or_default())
        });
        place.map(Some)
    }

    /// Whether the figures of a file with this name go here.
    fn is_for(&self, file: &str) -> bool {
        self.name.as_deref().is_none_or(|name| name == file)
    }

    /// The figures, or why there are none.
    fn figures(&self, content: &Content) -> Result<String, String> {
        let table = match &self.workload {
            None => markdown::answer(content),
            Some(workload) => self.table(content, workload)?,
        };
        Ok(format!("{}\n\n{}\n", markdown::escaped(&origin(content)), table.trim_end()))
    }

    /// A line for each row of this workload, or for each target of a single one.
    fn table(&self, content: &Content, workload: &str) -> Result<String, String> {
        let has = |sheet: &&Sheet| {
            let is = |(name, value): &(String, String)| {
                sheet.params.get(name).is_some_and(|other| word(other) == *value)
            };
            sheet.workload == workload && self.options.iter().all(is)
        };
        let index = |sheet: &Sheet| match &self.metric {
            None => Some(sheet.headline),
            Some(name) => sheet.metrics.iter().position(|metric| metric.name == *name),
        };
        let is_wanted =
            |name: &str| self.targets.is_empty() || self.targets.iter().any(|t| t == name);
        let rows = content.sheets.iter().filter(has).filter_map(|sheet| {
            let grid = Grid::of_metric(sheet, index(sheet)?);
            let lines = grid.lines.into_iter().filter(|(lane, _)| is_wanted(&lane.name));
            let grid = Grid { lines: lines.collect(), ..grid };
            (!grid.lines.is_empty()).then_some((sheet, grid))
        });
        let rows: Vec<_> = rows.collect();
        let mut text = String::new();
        match &rows[..] {
            [] => return Err(format!("the file has no numbers of {workload} for this place")),
            [(_, grid)] => markdown::grid(&mut text, grid),
            [(first, _), ..] => {
                let mut targets = self.targets.clone();
                for (lane, _) in rows.iter().flat_map(|(_, grid)| &grid.lines) {
                    if !targets.contains(&lane.name) {
                        targets.push(lane.name.clone());
                    }
                }
                let differs = |(name, value): &(&String, &serde_json::Value)| {
                    rows.iter().any(|(sheet, _)| sheet.params.get(*name) != Some(*value))
                };
                let cells = |sheet: &Sheet| {
                    let params = sheet.params.iter().filter(differs);
                    let params =
                        params.map(|(name, value)| (name.clone(), value.clone())).collect();
                    let value = |target: &String| {
                        let lane = sheet.lanes.iter().find(|lane| lane.name == *target)?;
                        let index = index(sheet)?;
                        let value = middle(&lane.samples(index))?;
                        Some(quantity::short(value, &sheet.metrics[index].unit))
                    };
                    let values = targets.iter().map(|t| value(t).unwrap_or_else(|| "–".to_owned()));
                    [workload::line(&params)].into_iter().chain(values).collect()
                };
                let title = index(first).map(|index| table::title(&first.metrics[index]));
                let title = format!("{}, medians", title.unwrap_or_default());
                let heads: Vec<_> = [title].into_iter().chain(targets.iter().cloned()).collect();
                let rule = ":--".to_owned() + &"|--:".repeat(targets.len());
                markdown::table(
                    &mut text,
                    &heads,
                    &rule,
                    rows.iter().map(|(sheet, _)| cells(sheet)),
                );
            }
        }
        Ok(text)
    }
}

impl Readme {
    /// Writes the figures, or checks them.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let content = read(&self.results)?.1;
        self.readmes.iter().try_for_each(|readme| self.fill(readme, &content))
    }

    /// The same in one file.
    fn fill(&self, readme: &Path, content: &Content) -> Result<(), Stop> {
        let name = readme.display();
        let wrong = |reason: String| Stop::Usage(format!("{name}: {reason}"));
        let old = fs::read_to_string(readme)
            .map_err(|error| Stop::Usage(format!("can't read {name}: {error}")))?;
        let file = self.results.file_stem().unwrap_or_default().to_string_lossy();
        let (mut new, mut places) = (String::with_capacity(old.len()), 0);
        let mut lines = old.split_inclusive('\n');
        while let Some(line) = lines.next() {
            new += line;
            let place = Place::of(line).map_err(wrong)?;
            let Some(place) = place.filter(|place| place.is_for(&file)) else { continue };
            let end = lines.find(|line| line.trim_end() == END);
            let end = end.ok_or_else(|| wrong(format!("a place for figures has no {END}")))?;
            new += &place.figures(content).map_err(wrong)?;
            new += end;
            places += 1;
        }
        if places == 0 {
            let begin = format!("{BEGIN} --> or {BEGIN}: {file} -->");
            return Err(wrong(format!("has no place for figures: lines with {begin} and {END}")));
        }
        match self.check {
            true if old == new => Ok(()),
            true => Err(Stop::Failed(format!(
                "{name} has other figures than {}: run this command without --check",
                self.results.display()
            ))),
            false => Destination::open(readme, true)?.write(new.as_bytes()),
        }
    }
}

/// What it was measured on.
fn origin(content: &Content) -> String {
    let setting = &content.recorded.setting;
    let said = ["cpu_model", "hypervisor", "kernel", "rustc", "date"];
    let said: Vec<_> = said.iter().filter_map(|&name| setting.get(name)?.as_str()).collect();
    let on = format!("{} × {}", content.recorded.machine.cpus, said.join(", "));
    let commit = setting.get("build").and_then(|build| build["commit"].as_str());
    let at = commit.map_or(String::new(), |commit| format!(" at {commit}"));
    let measured = printable(&format!("Measured{at} on {on}."));
    [measured].into_iter().chain(content.warnings()).collect::<Vec<_>>().join(" ")
}
