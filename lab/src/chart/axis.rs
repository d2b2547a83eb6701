//! Where a value is in a drawing: linear from 0, or logarithmic.

/// An axis between two places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// The value at the start, and the one at the end.
    values: (f64, f64),
    /// These places.
    places: (f64, f64),
    /// Whether equal distances are equal ratios.
    is_log: bool,
}

/// Digits of ticks between two powers of ten.
const DIGITS: [f64; 3] = [1.0, 2.0, 5.0];
/// The same where values are near each other.
const FINE: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0];

impl Axis {
    /// An axis from 0 to the greatest of `values`.
    pub(super) fn linear(values: impl Iterator<Item = f64> + Clone, places: (f64, f64)) -> Self {
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        Axis { values: (0.0, most), places, is_log: false }
    }

    /// An axis on which all of `values` are that are more than 0.
    pub(super) fn log(values: impl Iterator<Item = f64> + Clone, places: (f64, f64)) -> Self {
        let values = values.filter(|value| *value > 0.0 && value.is_normal());
        let least = values.clone().fold(f64::MAX, f64::min);
        let most = values.fold(f64::MIN_POSITIVE, f64::max);
        // No mark lies on the edge.
        let values = ((least / 1.2).max(f64::MIN_POSITIVE), (most * 1.2).min(f64::MAX));
        Axis { values, places, is_log: true }
    }

    /// The place of `value`, which is at an end if it is beyond it.
    pub(super) fn at(&self, value: f64) -> f64 {
        let ((low, high), (start, end)) = (self.values, self.places);
        let share = match self.is_log {
            // What is below 0 has no logarithm.
            true => (value.max(low).ln() - low.ln()) / (high.ln() - low.ln()),
            false => value / high,
        };
        // Nothing is anywhere on an axis of no length.
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        start + (end - start) * share
    }

    /// Whether `value` is beyond its end.
    pub(super) fn ends_before(&self, value: f64) -> bool {
        value > self.values.1
    }

    /// Round values on it, `most` or fewer.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = self.values;
        let inside = |value: &f64| (low..=high).contains(value);
        if !self.is_log {
            let raw = high / most as f64;
            let power = 10_f64.powi(raw.log10().floor() as i32);
            let steps = DIGITS.into_iter().chain([10.0]).map(|digit| digit * power);
            let Some(step) = steps.into_iter().find(|step| *step >= raw) else { return vec![0.0] };
            return (0..=most).map(|tick| tick as f64 * step).filter(inside).collect();
        }
        let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let ticks = |digits: &[f64]| {
            let powers = exponents.clone().map(|exponent| 10_f64.powi(exponent));
            let all = powers.flat_map(|power| digits.iter().map(move |digit| digit * power));
            all.filter(inside).collect::<Vec<_>>()
        };
        let fine = [&FINE[..], &DIGITS].into_iter().map(ticks).find(|ticks| ticks.len() <= most);
        fine.unwrap_or_else(|| {
            let powers = ticks(&DIGITS[..1]);
            let every = powers.len().div_ceil(most).max(1);
            powers.into_iter().step_by(every).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn ticks_are_round_and_few() {
        let linear = |most| Axis::linear([most].into_iter(), (0.0, 100.0)).ticks(5);
        assert_eq!(linear(8.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(linear(38e6), [0.0, 10e6, 20e6, 30e6]);
        let log = |low, high| Axis::log([low, high].into_iter(), (0.0, 100.0)).ticks(5);
        assert_eq!(log(2.0, 3.0), [2.0, 3.0]);
        assert_eq!(log(2.0, 40.0), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(log(1.0, 1e4), [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(log(1.0, 1e8).len(), 5);
    }

    #[test]
    fn every_value_is_between_the_ends() {
        let hostile = [0.0, -1.0, 1e308, -1e308, 1e-300, f64::MAX, f64::INFINITY, f64::NAN];
        for values in [&hostile[..], &[0.0], &[-1.0], &[], &[5.0]] {
            for axis in [Axis::linear, Axis::log] {
                let axis = axis(values.iter().copied(), (10.0, 20.0));
                for value in hostile {
                    assert!((10.0..=20.0).contains(&axis.at(value)), "{value} in {values:?}");
                }
                assert!(axis.ticks(6).len() <= 7, "{values:?}");
            }
        }
        let axis = Axis::log([1.0, 100.0].into_iter(), (0.0, 100.0));
        assert!((axis.at(10.0) - 50.0).abs() < 1e-9);
    }
}
