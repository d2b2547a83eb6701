//! CSV files to which a run appends: one after another makes one table.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use csv::Writer;

use super::destination::{folder, refused};
use super::results::Results;
use crate::row::Row;
use crate::stats::middle;
use crate::stop::Stop;
use crate::target::Entry;
use crate::workload;

/// A file with these columns.
pub(crate) struct Csv {
    /// Its path.
    path: PathBuf,
    /// The names of its columns.
    columns: &'static [&'static str],
}

/// The columns of results: a row for each workload, target and metric.
pub(crate) const RESULTS: &[&str] = &[
    "date", "version", "cpus", "hogs", "pin", "seed", "workload", "options", "target", "metric",
    "unit", "rounds", "median", "min", "max", "ratio", "complete",
];

/// The columns of single values: a row for each.
pub(crate) const SAMPLES: &[&str] = &["workload", "options", "target", "round", "seconds"];

impl Csv {
    /// Checks, before anything is measured, that rows with these columns can be appended to the file at `path`.
    pub(crate) fn open(path: &Path, columns: &'static [&'static str]) -> Result<Self, Stop> {
        let csv = Csv { path: path.to_owned(), columns };
        match fs::metadata(path) {
            Ok(what) if !what.is_file() => {
                return Err(Stop::Usage(format!("{} is not a regular file", path.display())));
            }
            Ok(_) => {
                let open = OpenOptions::new().read(true).append(true).open(path);
                let file = open.map_err(|error| refused(path, &error))?;
                let mut first = String::new();
                let read = BufReader::new(file).read_line(&mut first);
                read.map_err(|error| refused(path, &error))?;
                if !first.is_empty() && first.trim_end() != columns.join(",") {
                    let reason = format!("{} has other columns", path.display());
                    return Err(Stop::Usage(reason));
                }
            }
            // A link that leads nowhere is there, and its target is none.
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                tempfile::tempfile_in(folder(path)).map_err(|error| refused(path, &error))?;
            }
            Err(error) => return Err(refused(path, &error)),
        }
        Ok(csv)
    }

    /// Appends these rows, below the names of the columns if the file is new.
    fn append(&self, rows: &[Vec<String>]) -> Result<(), Stop> {
        let append = || {
            let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
            // In one piece, so that a full device leaves no half of a row behind one that is whole.
            file.write_all(&self.text(file.metadata()?.len() == 0, rows)?)
        };
        append().map_err(|error: io::Error| {
            Stop::Failed(format!("{} not written: {error}", self.path.display()))
        })
    }

    /// These rows as text.
    fn text(&self, is_new: bool, rows: &[Vec<String>]) -> io::Result<Vec<u8>> {
        let mut text = Writer::from_writer(Vec::new());
        if is_new {
            text.write_record(self.columns)?;
        }
        rows.iter().try_for_each(|row| text.write_record(row))?;
        text.into_inner().map_err(|error| io::Error::other(error.to_string()))
    }

    /// Appends the single values of a run.
    pub(crate) fn samples(
        &self,
        row: &dyn Row,
        target: &Entry,
        round: u64,
        values: &[f64],
    ) -> Result<(), Stop> {
        let options = workload::line(&row.params());
        let line = |value: &f64| {
            let round = [round.to_string(), value.to_string()];
            let words = [row.name(), &options, target.name].map(str::to_owned);
            words.into_iter().chain(round).collect()
        };
        self.append(&values.iter().map(line).collect::<Vec<_>>())
    }

    /// Appends the results: of each metric of a target what its rounds come to.
    pub(super) fn results(&self, results: &Results) -> Result<(), Stop> {
        let machine = &results.machine;
        let mut rows = Vec::new();
        for sheet in &results.sheets {
            let options = workload::line(&sheet.params);
            for lane in &sheet.lanes {
                for (index, metric) in sheet.metrics.iter().enumerate() {
                    let samples = lane.samples(index);
                    let number =
                        |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
                    let Some(median) = middle(&samples) else { continue };
                    rows.push(vec![
                        machine.date.clone(),
                        machine.version.clone(),
                        machine.cpus.to_string(),
                        machine.hogs.to_string(),
                        machine.pin.clone().unwrap_or_default(),
                        machine.seed.to_string(),
                        sheet.workload.clone(),
                        options.clone(),
                        lane.name.clone(),
                        metric.name.clone(),
                        metric.unit.clone(),
                        lane.rounds(index).len().to_string(),
                        median.to_string(),
                        number(samples.iter().copied().min_by(f64::total_cmp)),
                        number(samples.iter().copied().max_by(f64::total_cmp)),
                        number(middle(&sheet.ratios(index, lane))),
                        (lane.rounds(index).len() >= results.rounds).to_string(),
                    ]);
                }
            }
        }
        self.append(&rows)
    }
}
