//! What has been measured so far.

use super::quantity;
use crate::machine::Machine;
use crate::target::Entry;
use crate::workload::{Direction, Meaning, Metric, Params};

/// Everything measured so far.
pub(crate) struct Results {
    /// What it was measured on.
    pub(super) machine: Machine,
    /// Rounds that make a result complete.
    pub(super) rounds: usize,
    /// One per row.
    pub(super) sheets: Vec<Sheet>,
}

/// One row: a workload with its options.
pub(crate) struct Sheet {
    /// The name of the workload.
    pub(super) workload: &'static str,
    /// What it stands for.
    pub(super) meaning: Meaning,
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
    /// a target that loses tasks says nothing. None either of what the system does not tell.
    pub(super) fn samples(&self, metric: usize) -> Vec<f64> {
        let valid = self.rounds.iter().filter(|_| self.failure.is_none());
        valid.map(|values| values[metric]).filter(|value| !value.is_nan()).collect()
    }
}

impl Sheet {
    /// This lane's samples of a metric over those of the best peer, each in its own round.
    pub(super) fn ratios(&self, metric: usize, lane: &Lane) -> Vec<f64> {
        let peers: Vec<_> = self.lanes.iter().filter(|lane| lane.target.is_peer).collect();
        let peers: Vec<_> = peers.iter().map(|peer| peer.samples(metric)).collect();
        let best = |round: usize| {
            let values = peers.iter().filter_map(|samples| samples.get(round).copied());
            match self.metrics[metric].direction {
                Direction::Higher => values.max_by(f64::total_cmp),
                Direction::Lower => values.min_by(f64::total_cmp),
            }
        };
        let samples = lane.samples(metric).into_iter().enumerate();
        // A count may be 0, and a ratio of what has no digits is one of rounding errors.
        let comparable = |value: &f64| quantity::has_digits(*value, self.metrics[metric].unit);
        let best = |round| best(round).filter(comparable);
        let samples = samples.filter(|(_, value)| comparable(value));
        samples.filter_map(|(round, value)| Some(value / best(round)?)).collect()
    }
}

impl Results {
    /// Every failure, with the sheet and the lane it stands in.
    pub(super) fn failures(&self) -> impl Iterator<Item = (&Sheet, &Lane, &str)> {
        self.sheets.iter().flat_map(|sheet| {
            sheet.lanes.iter().filter_map(move |lane| Some((sheet, lane, lane.failure.as_deref()?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane, Sheet};
    use crate::target::Family as _;
    use crate::targets::pools::Pools;
    use crate::workload::{Meaning, Metric, Params};

    const METRICS: &[Metric] = &[Metric::more("rate", "tasks/s"), Metric::CPU];

    /// A lane with these rates.
    fn lane(name: &str, rates: &[f64]) -> Lane {
        let target = Pools::TARGETS.iter().find(|target| target.name == name).expect("a pool");
        let rounds = rates.iter().map(|&rate| vec![rate, 1.0]).collect();
        Lane { target, rounds, failure: None }
    }

    #[test]
    fn each_round_is_compared_with_the_best_peer_of_that_round() {
        let mut sheet = Sheet {
            workload: "throughput",
            meaning: Meaning::new("run jobs", "It is a test."),
            params: Params::new(),
            metrics: METRICS,
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
