//! The output: tables, a progress bar, the result file.
//!
//! All output goes through fallible writers, and a closed reader ends the program
//! quietly.

pub(crate) mod answer;
pub(crate) mod destination;
pub(crate) mod quantity;
pub(crate) mod results;
pub(crate) mod speedup;
pub(crate) mod table;

use std::io::{self, Write};
use std::panic;
use std::thread;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::program::print;
use crate::stop::{Stop, escaped};

/// Prints tables, and shows the progress on stderr if it is a terminal.
pub(crate) struct Reporter {
    /// Tables go to stderr, since stdout is the result file.
    to_stderr: bool,
    /// There are no tables.
    is_quiet: bool,
    /// How many runs are over.
    bar: ProgressBar,
}

impl Reporter {
    /// A reporter for so many runs.
    pub(crate) fn new(to_stderr: bool, is_quiet: bool, runs: u64) -> Self {
        // Drawn when a step is made and never by a separate thread, which would be measured too; and only on a terminal. The tables
        // say it all in the end: half a bar above the prompt says nothing.
        let mut bar = ProgressBar::new(runs).with_finish(ProgressFinish::AndClear);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
            bar = bar.with_style(style);
        }
        Reporter { to_stderr, is_quiet, bar }
    }

    /// Shows the next run, with a number higher by 1.
    pub(crate) fn announce(&self, workload: &str, target: &str) {
        self.bar.inc(1);
        self.bar.set_message(format!("{workload} on {target}"));
    }

    /// How many runs have been announced.
    pub(crate) fn runs(&self) -> u64 {
        self.bar.position()
    }

    /// Prints `text` and a new line, unless it is to be quiet.
    pub(crate) fn print(&self, text: &str) -> Result<(), Stop> {
        if self.is_quiet {
            return Ok(());
        }
        self.bar.suspend(|| {
            if self.to_stderr {
                // The tables are a courtesy there, and need no reader.
                let _ = writeln!(io::stderr(), "{text}");
                return Ok(());
            }
            write_line(text)
        })
    }
}

/// Writes `text` and a new line to stdout, now. The text of a file must not command the terminal.
pub(crate) fn write_line(text: &str) -> Result<(), Stop> {
    Ok(print(escaped(text) + "\n")?)
}

/// Lets a panic print message and place on a line, without a backtrace: in here it is a peer's
/// answer to a refusal of the machine more often than a mistake.
pub(crate) fn quiet_panics() {
    panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or("without a name").to_owned();
        let what = panic.to_string().replace('\n', " ");
        let _ = writeln!(io::stderr(), "brigade-lab: thread {name} {what}");
    }));
}
