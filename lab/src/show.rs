//! A result file for people: the tables of the terminal.

use std::path::PathBuf;

use clap::Args;

use crate::report::answer;
use crate::report::results::Results;
use crate::report::table::{self, Detail};
use crate::report::write_line;
use crate::stop::Stop;

/// Options of `report`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Report {
    /// A result file, as `--json` writes it.
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
}

impl Report {
    /// Prints the tables, and the answer below them.
    pub(crate) fn run(&self, is_verbose: bool) -> Result<(), Stop> {
        let Results { machine, sheets, complete, noise, .. } = Results::read(&self.results)?;
        let detail = if is_verbose { Detail::Verbose } else { Detail::Usual };
        let mut text = machine.describe(true).join("\n") + "\n";
        sheets.iter().for_each(|sheet| text += &(table::of(sheet, detail) + "\n"));
        text.extend(answer::of(&sheets, true).map(|answer| answer + "\n"));
        if !complete {
            text += "\nnot complete: something failed or was interrupted";
        }
        text.extend(noise.busy.map(|busy| format!("\n{busy}")));
        write_line(text.trim_end())
    }
}
