//! What has been measured so far, shared with the thread that listens for signals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::destination::Output;
use super::results::{Lane, Results, SCHEMA, Sheet};
use super::table::Detail;
use super::{answer, table};
use crate::machine::Machine;
use crate::noise::Noise;
use crate::row::Row;
use crate::spent::Spent;
use crate::stop::Stop;
use crate::target::Entry;

/// The results, and where they go.
struct Book {
    /// What has been measured.
    results: Results,
    /// What the machine does besides.
    noise: Noise,
    /// What is made of it; taken by the thread that writes it.
    outputs: Option<Vec<Output>>,
    /// Rows whose tables have been printed.
    printed: usize,
}

impl Book {
    /// Ends the row that was begun last, unless that has ended; or cuts it short.
    fn close_sheet(&mut self, is_cut: bool) {
        let last = self.results.sheets.last_mut();
        if let Some(sheet) = last.filter(|sheet| sheet.meanwhile.is_none()) {
            let meanwhile = self.noise.close_row(is_cut);
            sheet.noise = meanwhile.line(self.results.machine.cpus);
            sheet.meanwhile = Some(meanwhile);
        }
    }
}

/// A book that two threads write: one that measures, and one that may have to end it.
#[derive(Clone)]
pub(crate) struct SharedBook(Arc<Mutex<Book>>);

impl SharedBook {
    /// An empty book.
    pub(crate) fn new(machine: Machine, noise: Noise, outputs: Vec<Output>) -> Self {
        let (sheets, record) = (Vec::new(), noise.record.clone());
        let results = Results { schema: SCHEMA, complete: false, machine, noise: record, sheets };
        let book = Book { results, noise, outputs: Some(outputs), printed: 0 };
        SharedBook(Arc::new(Mutex::new(book)))
    }

    /// The book, which no panic can leave half-written.
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a row.
    pub(crate) fn open_sheet(&self, row: &Row, targets: &[&'static Entry]) {
        let mut book = self.lock();
        book.noise.open_row();
        book.results.sheets.push(Sheet::new(row, targets));
    }

    /// Ends the row that was begun last.
    pub(crate) fn close_sheet(&self) {
        self.lock().close_sheet(false);
    }

    /// The tables of an interrupted run that have not been printed: that of the current row as far as it is, and the last one.
    pub(crate) fn rest(&self, detail: Detail, is_sweep: bool) -> String {
        let has_table = {
            let book = self.lock();
            let last = book.results.sheets.last();
            detail != Detail::None
                && book.printed < book.results.sheets.len()
                && last.is_some_and(|sheet| sheet.lanes.iter().any(|lane| !lane.values.is_empty()))
        };
        let rest = if has_table { self.last_table(detail) } else { String::new() };
        rest + &self.conclusion(is_sweep, detail).unwrap_or_default()
    }

    /// The table below all others: that of a sweep, and the answer of several rows.
    pub(crate) fn conclusion(&self, is_sweep: bool, detail: Detail) -> Option<String> {
        let (sheets, is_verbose) = (&self.lock().results.sheets, detail == Detail::Verbose);
        match sheets.len() {
            0 => None,
            _ if detail == Detail::None => None,
            _ if is_sweep => {
                let answer = answer::of(sheets, true).map(|answer| "\n".to_owned() + &answer);
                Some(table::of_sweep(sheets, is_verbose) + &answer.unwrap_or_default())
            }
            // Of a single row the answer is its table, unless it is the user's.
            1 if !sheets[0].is_yours => None,
            _ => answer::of(sheets, is_verbose),
        }
    }

    /// Lets `look` look at what the machine does besides, and note it.
    pub(crate) fn noise<T>(&self, look: impl FnOnce(&mut Noise) -> T) -> T {
        look(&mut self.lock().noise)
    }

    /// Whether further rounds of the current row would change nothing, see [`answer::is_decided`].
    pub(crate) fn is_decided(&self, until: Option<f64>) -> bool {
        self.lock().results.sheets.last().is_none_or(|sheet| answer::is_decided(sheet, until))
    }

    /// Lets `write` write into this target's lane of the current row.
    fn write(&self, target: &'static Entry, write: impl FnOnce(&mut Lane)) {
        let mut book = self.lock();
        let lanes = book.results.sheets.last_mut().into_iter().flat_map(|sheet| &mut sheet.lanes);
        if let Some(lane) = lanes.into_iter().find(|lane| lane.name == target.name) {
            write(lane);
        }
    }

    /// Notes what a round yielded, and what its run took.
    pub(crate) fn record(&self, target: &'static Entry, values: Vec<f64>, spent: Spent) {
        self.write(target, |lane| {
            lane.spent.push(spent);
            lane.values.resize(values.len(), Vec::new());
            lane.values.iter_mut().zip(values).for_each(|(of, value)| of.push(value));
        });
    }

    /// Notes why this target has no number in this row.
    pub(crate) fn strike(&self, target: &'static Entry, reason: &str) {
        self.write(target, |lane| {
            lane.failure = Some(reason.to_owned());
            (lane.values, lane.spent) = Default::default();
        });
    }

    /// The table of the row measured last.
    pub(crate) fn last_table(&self, detail: Detail) -> String {
        let mut book = self.lock();
        book.printed = book.results.sheets.len();
        book.results.sheets.last().map(|sheet| table::of(sheet, detail)).unwrap_or_default()
    }

    /// Which peers failed, or which other targets did: where and why.
    pub(crate) fn failures(&self, peers: bool) -> Vec<String> {
        let book = self.lock();
        let failures = book.results.failures();
        let is_peer = |sheet: &Sheet, lane: &Lane| lane.is_peer && !sheet.is_yours;
        let failures = failures.filter(|(sheet, lane, _)| is_peer(sheet, lane) == peers);
        failures
            .map(|(sheet, lane, why)| {
                let row = [&sheet.workload, " ", &sheet.differences(&book.results.sheets)].concat();
                format!("{} on {}: {why}", row.trim_end(), lane.name)
            })
            .collect()
    }

    /// Writes the results to where they go, once: the second call finds it done.
    pub(crate) fn finish(&self, complete: bool) -> Result<(), Stop> {
        // Locked until all is written, so that the process does not end before that.
        let mut book = self.lock();
        let Some(outputs) = book.outputs.take() else { return Ok(()) };
        book.close_sheet(true);
        (book.results.complete, book.results.noise) = (complete, book.noise.record.clone());
        let results = book.results.file()?;
        // One that can't be written takes none of the others with it.
        outputs.iter().map(|output| output.write(&results)).fold(Ok(()), Result::and)
    }
}
