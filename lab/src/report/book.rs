//! What has been measured so far, shared with the thread that listens for signals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::csv::Csv;
use super::destination::Output;
use super::results::{Lane, Results, Sheet};
use super::table::Detail;
use super::{answer, json, table};
use crate::machine::Machine;
use crate::row::Row;
use crate::stop::Stop;
use crate::target::Entry;

/// The results, and where they go.
struct Book {
    /// What has been measured.
    results: Results,
    /// What is made of it; taken by the thread that writes it.
    outputs: Option<Vec<Output>>,
    /// Where its rounds are appended as well.
    csv: Option<Csv>,
}

/// A book that two threads write: one that measures, and one that may have to end it.
#[derive(Clone)]
pub(crate) struct SharedBook(Arc<Mutex<Book>>);

impl SharedBook {
    /// An empty book.
    pub(crate) fn new(
        machine: Machine,
        rounds: usize,
        outputs: Vec<Output>,
        csv: Option<Csv>,
    ) -> Self {
        let results = Results { machine, rounds, sheets: Vec::new() };
        SharedBook(Arc::new(Mutex::new(Book { results, outputs: Some(outputs), csv })))
    }

    /// The book, which no panic can leave half-written.
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a row.
    pub(crate) fn open_sheet(&self, row: &dyn Row, targets: &[&'static Entry]) {
        self.lock().results.sheets.push(Sheet::new(row, targets));
    }

    /// Lets `write` write into this target's lane of the current row.
    fn write(&self, target: &'static Entry, write: impl FnOnce(&mut Lane)) {
        let mut book = self.lock();
        let lanes = book.results.sheets.last_mut().into_iter().flat_map(|sheet| &mut sheet.lanes);
        if let Some(lane) = lanes.into_iter().find(|lane| lane.name == target.name) {
            write(lane);
        }
    }

    /// Notes what a round yielded.
    pub(crate) fn record(&self, target: &'static Entry, values: Vec<f64>) {
        self.write(target, |lane| {
            lane.values.resize(values.len(), Vec::new());
            lane.values.iter_mut().zip(values).for_each(|(of, value)| of.push(value));
        });
    }

    /// Notes why this target has no number in this row.
    pub(crate) fn strike(&self, target: &'static Entry, reason: &str) {
        self.write(target, |lane| lane.failure = Some(reason.to_owned()));
    }

    /// The table of the row measured last.
    pub(crate) fn last_table(&self, detail: Detail) -> String {
        let book = self.lock();
        book.results.sheets.last().map(|sheet| table::of(sheet, detail)).unwrap_or_default()
    }

    /// One table of all rows, which differ in the options of a sweep.
    pub(crate) fn sweep_table(&self, is_verbose: bool) -> String {
        table::of_sweep(&self.lock().results.sheets, is_verbose)
    }

    /// One table of all rows: brigade beside the best peer of each.
    pub(crate) fn answer(&self) -> Option<String> {
        answer::of(&self.lock().results.sheets)
    }

    /// Which peers failed, or which other targets did: where and why.
    pub(crate) fn failures(&self, peers: bool) -> Vec<String> {
        let book = self.lock();
        let failures = book.results.failures();
        let is_peer = |sheet: &Sheet, lane: &Lane| lane.is_peer && !sheet.is_yours;
        let failures = failures.filter(|(sheet, lane, _)| is_peer(sheet, lane) == peers);
        failures
            .map(|(sheet, lane, why)| format!("{} on {}: {why}", sheet.workload, lane.name))
            .collect()
    }

    /// The results. No other thread may have the book any more.
    pub(crate) fn into_results(self) -> Results {
        let book = Arc::into_inner(self.0).expect("the only owner");
        book.into_inner().unwrap_or_else(PoisonError::into_inner).results
    }

    /// Writes the results to where they go, once: the second call finds it done.
    pub(crate) fn finish(&self, complete: bool) -> Result<(), Stop> {
        // Locked until all is written, so that the process does not end before that.
        let mut book = self.lock();
        let Some(outputs) = book.outputs.take() else { return Ok(()) };
        let appended = book.csv.take().map_or(Ok(()), |csv| csv.results(&book.results));
        let results = json::of(&book.results, complete)?;
        // One that can't be written takes none of the others with it.
        outputs.iter().map(|output| output.write(&results)).fold(appended, Result::and)
    }
}
