//! What has been measured so far, shared with the thread that listens for signals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::destination::Destination;
use super::{json, table};
use crate::machine::Machine;
use crate::stop::Stop;
use crate::targets::Entry;
use crate::workloads::{Direction, Metric, Params, Row};

/// Everything measured so far.
pub(crate) struct Book {
    /// What it was measured on.
    pub(super) machine: Machine,
    /// Rounds that make a result complete.
    pub(super) rounds: usize,
    /// One per row.
    pub(super) sheets: Vec<Sheet>,
    /// Where the results go; taken by whoever writes them.
    destination: Option<Destination>,
}

/// One row: a workload with its options.
pub(crate) struct Sheet {
    /// The name of the workload.
    pub(super) workload: &'static str,
    /// Its options.
    pub(super) params: Params,
    /// What each run yields.
    pub(super) metrics: &'static [Metric],
    /// A line for the reader of the table.
    pub(super) note: Option<String>,
    /// One per target.
    pub(super) lanes: Vec<Lane>,
}

/// One target in one row.
pub(crate) struct Lane {
    /// Which target.
    pub(super) target: &'static Entry,
    /// What each round yielded, in the order of the metrics.
    pub(super) rounds: Vec<Vec<f64>>,
    /// Why there is no number.
    pub(super) failure: Option<String>,
}

impl Lane {
    /// The samples of one metric, round by round. None at all if the target failed: a number from
    /// a target that loses tasks says nothing.
    pub(super) fn samples(&self, metric: usize) -> Vec<f64> {
        let valid = self.rounds.iter().filter(|_| self.failure.is_none());
        valid.map(|values| values[metric]).collect()
    }
}

impl Sheet {
    /// This lane's samples of a metric over those of the best peer, each in its own round.
    pub(super) fn ratios(&self, metric: usize, lane: &Lane) -> Vec<f64> {
        let peers: Vec<_> = self.lanes.iter().filter(|lane| lane.target.is_peer()).collect();
        let peers: Vec<_> = peers.iter().map(|peer| peer.samples(metric)).collect();
        let best = |round: usize| {
            let values = peers.iter().filter_map(|samples| samples.get(round).copied());
            match self.metrics[metric].direction {
                Direction::Higher => values.max_by(f64::total_cmp),
                Direction::Lower => values.min_by(f64::total_cmp),
            }
        };
        let samples = lane.samples(metric).into_iter().enumerate();
        // Nothing is so many times nothing: a count may be 0.
        let best = |round| best(round).filter(|&best| best > 0.0);
        samples.filter_map(|(round, value)| Some(value / best(round)?)).collect()
    }
}

/// The middle of `values`, or the mean of the two in the middle.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let (low, high) =
        (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}

/// A book that two threads write: one that measures, and one that may have to end it.
#[derive(Clone)]
pub(crate) struct SharedBook(Arc<Mutex<Book>>);

impl SharedBook {
    /// An empty book.
    pub(crate) fn new(machine: Machine, rounds: usize, destination: Destination) -> Self {
        let sheets = Vec::new();
        let book = Book { machine, rounds, sheets, destination: Some(destination) };
        SharedBook(Arc::new(Mutex::new(book)))
    }

    /// The book, which no panic can leave half-written.
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a row.
    pub(crate) fn open_sheet(&self, row: &Row, targets: &[&'static Entry]) {
        let lane = |&target| Lane { target, rounds: Vec::new(), failure: None };
        self.lock().sheets.push(Sheet {
            workload: row.name(),
            params: row.params(),
            metrics: row.metrics(),
            note: row.note(),
            lanes: targets.iter().map(lane).collect(),
        });
    }

    /// Lets `write` write into this target's lane of the current row.
    fn write(&self, target: &'static Entry, write: impl FnOnce(&mut Lane)) {
        let mut book = self.lock();
        let lanes = book.sheets.last_mut().into_iter().flat_map(|sheet| &mut sheet.lanes);
        if let Some(lane) = lanes.into_iter().find(|lane| lane.target == target) {
            write(lane);
        }
    }

    /// Notes what a round yielded.
    pub(crate) fn record(&self, target: &'static Entry, values: Vec<f64>) {
        self.write(target, |lane| lane.rounds.push(values));
    }

    /// Notes why this target has no number in this row.
    pub(crate) fn strike(&self, target: &'static Entry, reason: &str) {
        self.write(target, |lane| lane.failure = Some(reason.to_owned()));
    }

    /// The table of the row measured last.
    pub(crate) fn last_table(&self) -> String {
        self.lock().sheets.last().map(table::of).unwrap_or_default()
    }

    /// Who failed, where and why.
    pub(crate) fn failures(&self) -> Vec<String> {
        let book = self.lock();
        let failures = book.failures();
        failures
            .map(|(sheet, lane, why)| format!("{} on {}: {why}", sheet.workload, lane.target.name))
            .collect()
    }

    /// Writes the results to where they go, once: whoever comes second finds it done.
    pub(crate) fn finish(&self, complete: bool) -> Result<(), Stop> {
        // Locked until all is written, lest the process ends meanwhile.
        let mut book = self.lock();
        match book.destination.take() {
            Some(destination) => destination.write(&json::of(&book, complete)?),
            None => Ok(()),
        }
    }
}

impl Book {
    /// Every failure, with the sheet and the lane it stands in.
    pub(super) fn failures(&self) -> impl Iterator<Item = (&Sheet, &Lane, &str)> {
        self.sheets.iter().flat_map(|sheet| {
            sheet.lanes.iter().filter_map(move |lane| Some((sheet, lane, lane.failure.as_deref()?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane, Sheet, median};
    use crate::targets::Family;
    use crate::workloads::Row;

    /// A lane of `throughput` with these rates.
    fn lane(name: &str, rates: &[f64]) -> Lane {
        let target = Family::Pool.targets().find(|entry| entry.name == name);
        let target = target.expect("a pool");
        let rounds = rates.iter().map(|&rate| vec![rate, 1.0]).collect();
        Lane { target, rounds, failure: None }
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn each_round_is_compared_with_the_best_peer_of_that_round() {
        let row = crate::plan::quick().into_iter().find(|row| matches!(row, Row::Throughput(_)));
        let row = row.expect("planned");
        let mut sheet = Sheet {
            workload: row.name(),
            params: row.params(),
            metrics: row.metrics(),
            note: None,
            lanes: vec![
                lane("brigade", &[8.0, 9.0]),
                lane("brigade-fifo", &[100.0, 100.0]),
                lane("rayon", &[4.0, 1.0]),
                lane("tokio", &[2.0, 3.0]),
            ],
        };
        assert_eq!(sheet.ratios(0, &sheet.lanes[0]), [2.0, 3.0]);
        assert_eq!(sheet.ratios(0, &sheet.lanes[3]), [0.5, 1.0]);
        sheet.lanes[2].failure = Some("lost a task".to_owned());
        assert_eq!(sheet.ratios(0, &sheet.lanes[0]), [4.0, 3.0]);
        assert!(sheet.ratios(0, &sheet.lanes[2]).is_empty());
    }
}
