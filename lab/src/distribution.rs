//! How single values are distributed, each of them counted, and what a result file has of that.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Nanoseconds of a second.
const NANOS: f64 = 1e9;

/// Nanoseconds that are counted as what they are: thirty years.
const LONGEST: f64 = 1e18;

/// Values of a file to a power of ten of the share beyond them.
const STEPS: i32 = 8;

/// Seconds, counted as nanoseconds that are off by a hundredth at most.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "Shares", into = "Shares")]
pub(crate) struct Distribution(Histogram<u64>);

/// What a file says of it.
#[derive(Deserialize, Serialize)]
struct Shares {
    /// How many values there are.
    values: u64,
    /// The least of them, each beyond which is a further [`beyond`] of them, and the greatest.
    seconds: Vec<f64>,
}

/// The shares of this many values that are beyond those in a file, down to that of one value, and to none.
fn beyond(values: u64) -> impl Iterator<Item = f64> {
    let shares = (0..).map(|step| 10_f64.powf(-f64::from(step) / f64::from(STEPS)));
    // A share is off by its last digit.
    shares.take_while(move |share| share * values as f64 > 0.999).chain([0.0])
}

impl Distribution {
    /// That of these seconds.
    pub(crate) fn of(seconds: &[f64]) -> Self {
        Self::counted(seconds.iter().map(|seconds| (*seconds, 1)))
    }

    /// That of these seconds, each as often as it occurs.
    fn counted(seconds: impl Iterator<Item = (f64, u64)>) -> Self {
        let mut counts = Histogram::new(2).expect("two digits are possible");
        for (seconds, times) in seconds {
            // It grows as far as it must.
            let _ = counts.record_n((seconds * NANOS).round().min(LONGEST) as u64, times);
        }
        Distribution(counts)
    }

    /// Adds those of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        // It grows as well.
        let _ = self.0.add(&other.0);
    }

    /// How many values there are.
    pub(crate) fn values(&self) -> u64 {
        self.0.len()
    }

    /// Shares of the values, each with the seconds beyond which it is: from all of them to none.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let seconds = |share: f64| self.0.value_at_quantile(1.0 - share) as f64 / NANOS;
        beyond(self.values()).map(move |share| (share, seconds(share)))
    }
}

impl From<Distribution> for Shares {
    fn from(of: Distribution) -> Self {
        let seconds = of.points().map(|(_, seconds)| seconds).collect();
        Shares { values: of.values(), seconds }
    }
}

impl TryFrom<Shares> for Distribution {
    type Error = String;

    fn try_from(Shares { values, seconds }: Shares) -> Result<Self, String> {
        let (needed, there) = (beyond(values).count(), seconds.len());
        if values == 0 || there != needed {
            return Err(format!(
                "a distribution of {values} values with {there} seconds, not {needed}"
            ));
        }
        let pairs = seconds.windows(2).map(|pair| (pair[0], pair[1]));
        if let Some((one, next)) =
            [(0.0, seconds[0])].into_iter().chain(pairs).find(|(one, next)| next < one)
        {
            return Err(format!("a distribution in which {next} is behind {one}"));
        }
        let mut before = 0;
        Ok(Distribution::counted(beyond(values).zip(seconds).map(|(share, seconds)| {
            let rank = ((1.0 - share) * values as f64).ceil().max(1.0) as u64;
            let times = rank.saturating_sub(before);
            before = rank;
            (seconds, times)
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    /// The seconds of its points.
    fn seconds(of: &Distribution) -> Vec<f64> {
        of.points().map(|(_, seconds)| seconds).collect()
    }

    #[test]
    fn a_file_has_the_least_the_greatest_and_what_is_between_to_two_digits() {
        let values: Vec<_> = (1..=1_000).map(|value| f64::from(value) * 1e-6).collect();
        let of = Distribution::of(&values);
        let points: Vec<_> = of.points().collect();
        assert_eq!((points.len(), of.values()), (3 * 8 + 2, 1_000));
        let ninety = points.iter().find(|(share, _)| (share - 0.1).abs() < 1e-9).expect("a decade");
        for (seconds, expected) in
            [(points[0].1, 1e-6), (ninety.1, 9e-4), (points[points.len() - 1].1, 1e-3)]
        {
            assert!((seconds / expected - 1.0).abs() < 0.02, "{seconds} for {expected}");
        }
    }

    #[test]
    fn what_a_file_says_is_read_back_as_it_was() {
        for values in [&[3e-6][..], &[1.0, 0.0], &[1e-6, 2e-3, 5e-5, 5e-5, 1e-6, 9e-4, 7.0]] {
            let mut of = Distribution::of(values);
            of.add(&Distribution::of(&[2e-5; 40]));
            let text = serde_json::to_string(&of).expect("JSON");
            let read: Distribution = serde_json::from_str(&text).expect("a distribution");
            assert_eq!((read.values(), seconds(&read)), (of.values(), seconds(&of)), "{text}");
        }
    }
}
