//! What a result file says, for people: a page, or the tables of the terminal.
//!
//! A run makes them from the content of its result file, so that there is one way from results to a page. A file inside
//! imports from those above it: `content`, `plots`, `html`.

mod content;
mod html;
mod plots;

use std::path::PathBuf;

use clap::Args;

use self::content::Content;
use crate::recorded;
use crate::report::destination::{Output, path};
use crate::report::write_line;
use crate::stop::Stop;

/// Options of `report`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Report {
    /// A result file, as `--json` writes it.
    #[arg(value_name = "RESULTS", value_parser = path())]
    results: PathBuf,
}

impl Report {
    /// Writes it to these places, or prints it if there is none.
    pub(crate) fn run(&self, outputs: &[Output], is_verbose: bool) -> Result<(), Stop> {
        if outputs.iter().any(|output| output.is_at(&self.results)) {
            return Err(Stop::Usage("a report must not replace its result file".to_owned()));
        }
        let results = recorded::content(&self.results)?;
        let content =
            Content::read(&results).map_err(|reason| recorded::refused(&self.results, &reason))?;
        if outputs.is_empty() {
            return write_line(&content.text(is_verbose));
        }
        outputs.iter().try_for_each(|output| output.write(&results))
    }
}

/// The page that shows this result file.
pub(crate) fn html(results: &[u8]) -> Result<Vec<u8>, String> {
    Ok(html::page(&Content::read(results)?).into_string().into_bytes())
}
