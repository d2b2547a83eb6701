//! What has been measured so far.

use super::quantity;
use super::speedup::Speedup;
use crate::machine::Machine;
use crate::noise::Noise;
use crate::spent::Spent;
use crate::target::Entry;
use crate::workload::{Direction, Meaning, Metric, Params};

/// Everything measured so far.
pub(crate) struct Results {
    /// What it was measured on.
    pub(super) machine: Machine,
    /// Rounds that make a result complete; there may be more.
    pub(super) rounds: usize,
    /// What else the machine did.
    pub(super) noise: Noise,
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
    /// What the machine did besides, if that was too much.
    pub(super) noise: Option<String>,
    /// One per target.
    pub(super) lanes: Vec<Lane>,
}

/// One target in one row.
pub(crate) struct Lane {
    /// Which target.
    pub(super) target: &'static Entry,
    /// What each round yielded, in the order of the metrics.
    pub(super) rounds: Vec<Vec<f64>>,
    /// What each of these runs took in all.
    pub(super) spent: Vec<Spent>,
    /// How often threads of the run that warmed up were moved from one CPU to another, if the system tells.
    pub(super) migrations: Option<u64>,
    /// Why there is no number.
    pub(super) failure: Option<String>,
}

impl Lane {
    /// How many single values are behind the percentiles of all rounds together.
    pub(super) fn values(&self) -> u64 {
        self.spent.iter().map(|spent| spent.count).sum()
    }

    /// The samples of one metric, round by round. None at all if the target failed: a number from
    /// a target that loses tasks says nothing. None either of what the system does not tell.
    pub(super) fn samples(&self, metric: usize) -> Vec<f64> {
        let valid = self.rounds.iter().filter(|_| self.failure.is_none());
        valid.map(|values| values[metric]).filter(|value| !value.is_nan()).collect()
    }
}

/// Single values that must lie beyond a percentile: the position of fewer is chance.
const BEYOND: f64 = 10.0;

impl Sheet {
    /// How many times as good one lane is as another by this metric, if that can be told.
    pub(super) fn speedup(&self, metric: usize, ours: &Lane, theirs: &Lane) -> Option<Speedup> {
        let rounds: Vec<_> = ours.samples(metric).into_iter().zip(theirs.samples(metric)).collect();
        let Metric { direction, unit, .. } = self.metrics[metric];
        Speedup::of(&rounds, direction, unit)
    }

    /// How many single values a lane must have behind this metric, if it is a percentile near an end and some lane with a number
    /// has less: ten beyond it.
    pub(super) fn lacking(&self, metric: usize) -> Option<(u64, u64)> {
        let beyond = self.metrics[metric].tail()?;
        let lanes = self.lanes.iter().filter(|lane| !lane.samples(metric).is_empty());
        // A run in another process does not say how many there were.
        let least = lanes.map(Lane::values).filter(|&values| values > 0).min()?;
        let needed = (BEYOND / beyond).round() as u64;
        (least < needed).then_some((least, needed))
    }

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
    /// Ends the row that was begun last, unless that has ended.
    pub(super) fn close_sheet(&mut self) {
        if self.noise.has_rows(self.sheets.len()) {
            return;
        }
        if let Some(sheet) = self.sheets.last_mut() {
            sheet.noise = self.noise.close_row(sheet.workload, sheet.params.clone());
        }
    }

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
        Lane { target, rounds, spent: Vec::new(), migrations: None, failure: None }
    }

    #[test]
    fn each_round_is_compared_with_the_best_peer_of_that_round() {
        let mut sheet = Sheet {
            workload: "throughput",
            meaning: Meaning::new("run jobs", "It is a test."),
            params: Params::new(),
            metrics: METRICS,
            note: None,
            noise: None,
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
