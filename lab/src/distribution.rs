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
#[serde(from = "Shares", into = "Shares")]
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

    /// How many values there are.
    pub(crate) fn values(&self) -> u64 {
        self.0.len()
    }

    /// Adds those of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        // It grows as well.
        let _ = self.0.add(&other.0);
    }
}

impl From<Distribution> for Shares {
    fn from(Distribution(of): Distribution) -> Self {
        let seconds = |share: f64| of.value_at_quantile(1.0 - share) as f64 / NANOS;
        Shares { values: of.len(), seconds: beyond(of.len()).map(seconds).collect() }
    }
}

/// What another process of the laboratory said of its values.
impl From<Shares> for Distribution {
    fn from(Shares { values, seconds }: Shares) -> Self {
        let mut before = 0;
        Distribution::counted(beyond(values).zip(seconds).map(|(share, seconds)| {
            let rank = ((1.0 - share) * values as f64).ceil().max(1.0) as u64;
            let times = rank.saturating_sub(before);
            before = rank;
            (seconds, times)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Shares};

    #[test]
    fn a_file_has_the_least_the_greatest_and_what_is_between_to_two_digits() {
        let values: Vec<_> = (1..=900).map(|value| f64::from(value) * 1e-6).collect();
        let mut of = Distribution::of(&values);
        of.add(&Distribution::of(
            &(901..=1_000).map(|value| f64::from(value) * 1e-6).collect::<Vec<_>>(),
        ));
        let Shares { values, seconds } = of.into();
        assert_eq!((seconds.len(), values), (3 * 8 + 2, 1_000));
        // The ninth is that with a tenth of the values beyond it.
        for (seconds, expected) in [(seconds[0], 1e-6), (seconds[8], 9e-4), (seconds[25], 1e-3)] {
            assert!((seconds / expected - 1.0).abs() < 0.02, "{seconds} for {expected}");
        }
    }
}
