//! The measurements so far, shared with the thread that listens for signals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::machine::Machine;
use crate::noise::Noise;
use crate::report::answer;
use crate::report::destination::Destination;
use crate::report::results::{Lane, Results, SCHEMA, Sheet};
use crate::report::table::{self, Detail};
use crate::stop::Stop;
use crate::target::Entry;
use crate::usage::Spent;

/// Which results are printed.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// The metrics of the table of each row.
    pub(crate) detail: Detail,
    /// Whether an option has several values: there is a table of all rows.
    pub(crate) is_sweep: bool,
    /// Whether nothing is measured, and nothing compared.
    pub(crate) is_check: bool,
}

/// The results, and where they go.
pub(crate) struct Book {
    /// The measurements.
    results: Results,
    /// Other work of the machine.
    pub(crate) noise: Noise,
    /// Where the results go, if anywhere; taken by the writing thread.
    output: Option<Destination>,
    /// Which results are printed.
    shown: Shown,
    /// Rows whose tables have been printed.
    printed: usize,
}

/// A book for two writing threads: the first measures, the second may have to end the run.
#[derive(Clone)]
pub(crate) struct SharedBook(Arc<Mutex<Book>>);

impl SharedBook {
    /// An empty book.
    pub(crate) fn new(
        machine: Machine,
        noise: Noise,
        output: Option<Destination>,
        shown: Shown,
    ) -> Self {
        let (sheets, record) = (Vec::new(), noise.record.clone());
        let results = Results { schema: SCHEMA, complete: false, machine, noise: record, sheets };
        let book = Book { results, noise, output, shown, printed: 0 };
        SharedBook(Arc::new(Mutex::new(book)))
    }

    /// The book, which no panic can leave half-written.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Begins a row.
    pub(crate) fn open_sheet(&mut self, sheet: Sheet) {
        self.noise.open_row();
        self.results.sheets.push(sheet);
    }

    /// Ends the last begun row, unless it has ended; or cuts it short.
    pub(crate) fn close_sheet(&mut self, is_cut: bool) {
        let last = self.results.sheets.last_mut();
        if let Some(sheet) = last.filter(|sheet| sheet.meanwhile.is_none()) {
            let meanwhile = self.noise.close_row(is_cut);
            let noise = meanwhile.complaints(self.results.machine.cpus);
            sheet.noise = noise.map(|why| format!("not alone: {why}"));
            sheet.meanwhile = Some(meanwhile);
        }
    }

    /// The unprinted tables of an interrupted run: the table of the current row as far as it is, and the last.
    pub(crate) fn rest(&mut self) -> String {
        let sheets = &self.results.sheets;
        let has_numbers = |sheet: &Sheet| sheet.lanes.iter().any(|lane| !lane.values.is_empty());
        let is_new = self.printed < sheets.len() && sheets.last().is_some_and(has_numbers);
        let table = if is_new { self.last_table() } else { None };
        table.into_iter().chain(self.conclusion()).collect()
    }

    /// The table of the row measured last, if each row has a table.
    pub(crate) fn last_table(&mut self) -> Option<String> {
        let detail = self.shown.detail;
        self.printed = self.results.sheets.len();
        let sheet = self.results.sheets.last().filter(|_| detail != Detail::None)?;
        Some(table::of(sheet, detail))
    }

    /// The table below all others: the table of a sweep, and the answer of several rows.
    pub(crate) fn conclusion(&self) -> Option<String> {
        let Shown { detail, is_sweep, is_check } = self.shown;
        let (sheets, is_verbose) = (&self.results.sheets, detail == Detail::Verbose);
        match &sheets[..] {
            [] => None,
            _ if is_check => None,
            _ if is_sweep => {
                let answer = answer::of(sheets, true).map(|answer| format!("\n{answer}"));
                Some(table::of_sweep(sheets, is_verbose) + &answer.unwrap_or_default())
            }
            // Of a single row the answer is the row's table, unless it is the user's.
            [only] if !only.is_yours => None,
            _ => answer::of(sheets, is_verbose),
        }
    }

    /// Whether further rounds of the current row would change nothing, see [`answer::is_decided`].
    pub(crate) fn is_decided(&self, until: Option<f64>) -> bool {
        self.results.sheets.last().is_none_or(|sheet| answer::is_decided(sheet, until))
    }

    /// This target's lane of the current row.
    fn lane(&mut self, target: &Entry) -> Option<&mut Lane> {
        self.results.sheets.last_mut()?.lanes.iter_mut().find(|lane| lane.name == target.name)
    }

    /// Notes the values of a round, and the cost of its run.
    pub(crate) fn record(&mut self, target: &Entry, values: Vec<f64>, spent: Spent) {
        if let Some(lane) = self.lane(target) {
            lane.spent.push(spent);
            lane.values.resize(values.len(), Vec::new());
            lane.values.iter_mut().zip(values).for_each(|(of, value)| of.push(value));
        }
    }

    /// Notes why this target has no number in this row.
    pub(crate) fn strike(&mut self, target: &Entry, reason: &str) {
        if let Some(lane) = self.lane(target) {
            lane.failure = Some(reason.to_owned());
            (lane.values, lane.spent) = Default::default();
        }
    }

    /// Which peers failed, or which other targets did: where and why.
    pub(crate) fn failures(&self, peers: bool) -> Vec<String> {
        let failures = self.results.failures();
        let failures =
            failures.filter(|(sheet, lane, _)| (lane.is_peer && !sheet.is_yours) == peers);
        let text = |(sheet, lane, why): (&Sheet, &Lane, &str)| {
            let row = [&sheet.workload, " ", &sheet.differences(&self.results.sheets)].concat();
            format!("{} on {}: {why}", row.trim_end(), lane.name)
        };
        failures.map(text).collect()
    }

    /// Writes the results to where they go, once: the second call finds it done.
    pub(crate) fn finish(&mut self, complete: bool) -> Result<(), Stop> {
        // The caller keeps the lock until all is written, so the process does not end before.
        self.close_sheet(true);
        let Some(output) = self.output.take() else { return Ok(()) };
        (self.results.complete, self.results.noise) = (complete, self.noise.record.clone());
        output.write(&self.results.file()?)
    }
}
