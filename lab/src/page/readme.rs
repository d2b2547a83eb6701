//! The figures of a README, which stand between two comments and come from a result file.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use super::content::Content;
use super::{markdown, read};
use crate::report::destination::{Destination, path};
use crate::stop::{Stop, printable};

/// Options of `readme`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Readme {
    /// A result file, as `--json` writes it.
    #[arg(value_name = "RESULTS", value_parser = path())]
    results: PathBuf,
    /// A file of Markdown with the lines `<!-- figures -->` and `<!-- /figures -->`.
    #[arg(value_name = "README", value_parser = path())]
    readme: PathBuf,
    /// Write nothing, and fail if there are other figures.
    #[arg(long)]
    check: bool,
}

/// The comments around the figures.
const MARKS: [&str; 2] = ["<!-- figures -->\n", "<!-- /figures -->\n"];

impl Readme {
    /// Writes the figures, or checks them.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let figures = figures(&read(&self.results)?.1);
        let name = self.readme.display();
        let text = fs::read_to_string(&self.readme)
            .map_err(|error| Stop::Usage(format!("can't read {name}: {error}")))?;
        let place = text.split_once(MARKS[0]).and_then(|(before, rest)| {
            let (old, after) = rest.split_once(MARKS[1])?;
            Some((before, old, after))
        });
        let Some((before, old, after)) = place else {
            let marks = MARKS.map(str::trim_end).join(" and ");
            return Err(Stop::Usage(format!(
                "{name} has no place for figures: lines with {marks}"
            )));
        };
        match self.check {
            true if old == figures => Ok(()),
            true => Err(Stop::Failed(format!(
                "{name} has other figures than {}: run this command without --check",
                self.results.display()
            ))),
            false => {
                let text = [before, MARKS[0], &figures, MARKS[1], after].concat();
                Destination::open(&self.readme, true)?.write(text.as_bytes())
            }
        }
    }
}

/// The answer, and what it was measured on.
fn figures(content: &Content) -> String {
    let setting = &content.recorded.setting;
    let said = ["cpu_model", "hypervisor", "kernel", "rustc", "date"];
    let said: Vec<_> = said.iter().filter_map(|&name| setting.get(name)?.as_str()).collect();
    let on = format!("{} × {}", content.recorded.machine.cpus, said.join(", "));
    let commit = setting.get("build").and_then(|build| build["commit"].as_str());
    let at = commit.map_or(String::new(), |commit| format!(" at {commit}"));
    let measured = printable(&format!("Measured{at} on {on}."));
    let head = [measured].into_iter().chain(content.warnings()).collect::<Vec<_>>().join(" ");
    let head = markdown::escaped(&head);
    format!("{head}\n\n{}\n", markdown::answer(content).trim_end())
}
