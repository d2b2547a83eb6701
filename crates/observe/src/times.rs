//! How long jobs wait and run, as histograms.

use core::fmt;
use core::time::Duration;

use hdrhistogram::Histogram;

/// The exact digits of a recorded time: two, so it is at most 1 % too large. A histogram has some 10 to 30 kB then;
/// with three digits it has ten times as much.
const DIGITS: u8 = 2;

/// How long the jobs of a pool have waited and run; see `Builder::histograms` of brigade.
///
/// [`Display`](fmt::Display) writes the quantiles, in two lines.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Histograms {
    /// From acceptance to start.
    pub waiting: Times,
    /// From start to end; for a future, all polls together.
    pub running: Times,
}

/// Durations, and how often each has occurred: exact to 1 %, in nanoseconds.
#[derive(Clone)]
pub struct Times(Histogram<u64>);

impl Histograms {
    pub(crate) fn new() -> Self {
        Self { waiting: Times::new(), running: Times::new() }
    }

    /// Adds the times of a job.
    pub(crate) fn add(&mut self, waited: Duration, ran: Duration) {
        self.waiting.add(waited);
        self.running.add(ran);
    }

    /// Adds the times of other histograms.
    pub(crate) fn add_all(&mut self, others: &Self) {
        self.waiting.add_all(&others.waiting);
        self.running.add_all(&others.running);
    }
}

impl Times {
    fn new() -> Self {
        match Histogram::new(DIGITS) {
            Ok(histogram) => Self(histogram),
            Err(error) => unreachable!("it has few digits: {error}"),
        }
    }

    fn add(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        if self.0.record(nanoseconds).is_err() {
            unreachable!("it grows as needed");
        }
    }

    fn add_all(&mut self, other: &Self) {
        if let Err(error) = self.0.add(&other.0) {
            unreachable!("it grows as needed: {error}");
        }
    }

    /// How many times have been recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The smallest time not exceeded by this part of the recorded times, from 0 to 1: 0.5 for the median. Zero without any
    /// times.
    pub fn quantile(&self, part: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_quantile(part))
    }

    /// The median.
    pub fn p50(&self) -> Duration {
        self.quantile(0.5)
    }

    /// The time not exceeded by 99 of 100.
    pub fn p99(&self) -> Duration {
        self.quantile(0.99)
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }

    /// The average.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.0.mean() as u64)
    }

    /// The histogram itself, in nanoseconds: to export it, or to subtract an earlier histogram.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl fmt::Debug for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Times({self})")
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99, max) = (self.p50(), self.p99(), self.max());
        write!(f, "{} jobs, p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?}", self.count())
    }
}

impl fmt::Display for Histograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waiting: {}\nrunning: {}", self.waiting, self.running)
    }
}
