//! Quantiles and moments of measurements.

use serde::{Deserialize, Serialize};

/// Numbers in JSON, which has `null` for NaN: a value the system does not tell.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "Vec<Option<f64>>")]
pub(crate) struct Numbers(pub(crate) Vec<f64>);

impl From<Vec<Option<f64>>> for Numbers {
    fn from(values: Vec<Option<f64>>) -> Self {
        Numbers(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}

/// The value at `share` of the way through `sorted`, by nearest rank; a run has at least one value.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The value in the middle, by nearest rank.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// The middle of `values`, or the mean of the two in the middle.
pub(crate) fn middle(values: &[f64]) -> Option<f64> {
    let values = sorted(values.to_vec());
    let last = values.len().checked_sub(1)?;
    Some(values[last / 2].midpoint(values[values.len() / 2]))
}

/// The values at these shares, in their order.
pub(crate) fn quantiles<const N: usize>(values: Vec<f64>, shares: [f64; N]) -> [f64; N] {
    let sorted = sorted(values);
    shares.map(|share| quantile(&sorted, share))
}

/// The mean of `values`, at least one, and the standard deviation of a sample, or 0 for a single value.
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

/// `values` in ascending order.
pub(crate) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::{Numbers, middle, quantile};

    #[test]
    fn the_middle_of_two_is_between_them() {
        assert_eq!(middle(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(middle(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(middle(&[]), None);
    }

    #[test]
    fn not_a_number_is_null_in_json_and_back() {
        let text = serde_json::to_string(&Numbers(vec![1.5, f64::NAN])).expect("JSON");
        assert_eq!(text, "[1.5,null]");
        let Numbers(read) = serde_json::from_str(&text).expect("numbers");
        assert!(read[0] == 1.5 && read[1].is_nan() && read.len() == 2, "{read:?}");
    }

    #[test]
    fn quantiles_are_occurring_values() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.5), 50.0);
        assert_eq!(quantile(&values, 0.99), 99.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
    }
}
