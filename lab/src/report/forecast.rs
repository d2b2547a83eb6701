//! How long the rest of a run takes, by what its rounds have taken so far.
//!
//! A row weighs what its own runs took: the round that warms up times every target once, and each further round makes the mean of
//! each better. Of rows that have not begun nothing is known but what a plan says, or what the rows before them took.

use std::time::Duration;

/// The run so far.
#[derive(Debug)]
pub(crate) struct Forecast {
    /// Seconds of a run of a row that has not begun, if a plan knows that.
    planned: Option<f64>,
    /// Runs of rows that have not begun.
    later: u64,
    /// The targets of the current row.
    lanes: Vec<Lane>,
    /// All runs that are over, and their seconds.
    over: (u64, f64),
}

/// A target of the current row.
#[derive(Clone, Debug)]
struct Lane {
    /// Its name.
    name: &'static str,
    /// Its runs that are left.
    left: u64,
    /// Those that are over, and their seconds.
    over: (u64, f64),
}

impl Forecast {
    /// Nothing has run of so many runs, each of which takes about this long, if that is known.
    pub(crate) fn new(runs: u64, planned: Option<Duration>) -> Self {
        let planned = planned.map(|time| time.as_secs_f64());
        Forecast { planned, later: runs, lanes: Vec::new(), over: (0, 0.0) }
    }

    /// A row begins in which each of these targets runs so many times.
    pub(crate) fn open_row(&mut self, targets: impl Iterator<Item = &'static str>, runs: u64) {
        self.lanes = targets.map(|name| Lane { name, left: runs, over: (0, 0.0) }).collect();
        self.later = self.later.saturating_sub(runs * self.lanes.len() as u64);
    }

    /// A run of this target took so long; if it `failed`, it is the last one.
    pub(crate) fn ran(&mut self, target: &str, took: Duration, failed: bool) {
        let seconds = took.as_secs_f64();
        self.over = (self.over.0 + 1, self.over.1 + seconds);
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.name == target) {
            lane.over = (lane.over.0 + 1, lane.over.1 + seconds);
            // A round that no number of rounds foresaw.
            lane.left = if failed { 0 } else { lane.left.saturating_sub(1) };
        }
    }

    /// Runs that are over, and those that are left.
    pub(crate) fn runs(&self) -> (u64, u64) {
        (self.over.0, self.later + self.lanes.iter().map(|lane| lane.left).sum::<u64>())
    }

    /// The time for what is left; nothing before anything has run, unless a plan knows it.
    pub(crate) fn rest(&self) -> Option<Duration> {
        let mean = |(runs, seconds): (u64, f64)| (runs > 0).then(|| seconds / runs as f64);
        let of_row = self.lanes.iter().map(|lane| lane.over);
        let of_row = mean(of_row.fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)));
        let unknown = self.planned.or_else(|| mean(self.over));
        let row = self.lanes.iter().map(|lane| match lane.left {
            0 => Some(0.0),
            left => Some(left as f64 * mean(lane.over).or(of_row).or(unknown)?),
        });
        let later = if self.later == 0 { 0.0 } else { self.later as f64 * unknown? };
        Some(Duration::from_secs_f64(row.sum::<Option<f64>>()? + later))
    }
}

/// A time in words: whole seconds, or minutes from two on.
pub(crate) fn words(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Forecast, words};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_row_weighs_what_its_warm_up_took() {
        let mut forecast = Forecast::new(12, None);
        assert_eq!(forecast.rest(), None, "nothing has run");
        // Two rows of two targets in two rounds and a warm-up.
        forecast.open_row(["quick", "slow"].into_iter(), 3);
        forecast.ran("quick", SECOND, false);
        forecast.ran("slow", 9 * SECOND, false);
        // Two of each, and six more of five seconds.
        assert_eq!((forecast.rest(), forecast.runs()), (Some(50 * SECOND), (2, 10)));
        forecast.ran("slow", 9 * SECOND, false);
        let rest = forecast.rest().expect("known").as_secs_f64();
        // One of nine seconds, two of one, and six of 19 thirds.
        assert!((rest - 49.0).abs() < 1e-6, "{rest}");
        forecast.ran("quick", SECOND, false);
        forecast.ran("slow", 9 * SECOND, false);
        forecast.ran("quick", SECOND, false);
        assert_eq!(forecast.rest(), Some(30 * SECOND), "nothing of it jumps");
        forecast.open_row(["quick", "slow"].into_iter(), 3);
        forecast.ran("quick", 2 * SECOND, false);
        assert_eq!(forecast.rest(), Some(10 * SECOND), "of the current row the means count");
        forecast.ran("slow", 2 * SECOND, true);
        assert_eq!((forecast.rest(), forecast.runs()), (Some(4 * SECOND), (8, 2)));
    }

    #[test]
    fn a_plan_knows_before_anything_has_run() {
        let mut forecast = Forecast::new(10, Some(SECOND));
        assert_eq!(forecast.rest(), Some(10 * SECOND));
        forecast.open_row(["one"].into_iter(), 2);
        forecast.ran("one", 5 * SECOND, false);
        assert_eq!(forecast.rest(), Some(13 * SECOND));
        for round in 0..3 {
            forecast.ran("one", 5 * SECOND, false);
            assert_eq!(forecast.rest(), Some(8 * SECOND), "round {round}, as --until takes more");
        }
    }

    #[test]
    fn a_time_is_seconds_or_minutes() {
        let text = |millis| words(Duration::from_millis(millis));
        assert_eq!(
            [0, 1, 1_500, 119_000, 120_000, 121_000].map(text).join(" "),
            "0 s 1 s 2 s 119 s 2 min 3 min"
        );
    }
}
