//! Quantiles of what was measured, and numbers for people.

/// `values` in ascending order.
pub(crate) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The value at `share` of the way through `sorted`, which is not empty, by nearest rank.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The value in the middle of `values`, by nearest rank; 0 if there is none.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    if values.is_empty() { 0.0 } else { quantile(&sorted(values), 0.5) }
}

/// The value in the middle of `values`, or the mean of the two in the middle; 0 if there is none.
pub(crate) fn middle(values: Vec<f64>) -> f64 {
    let values = sorted(values);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    values.get(low).zip(values.get(high)).map_or(0.0, |(low, high)| low.midpoint(*high))
}

/// `value` with a prefix, in three digits or so.
pub(crate) fn short(value: f64, unit: &str) -> String {
    let prefixes =
        [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    let fitting = prefixes.into_iter().find(|(scale, _)| value >= *scale);
    let (scale, prefix) = fitting.unwrap_or((1.0, ""));
    let value = value / scale;
    let decimals = if value >= 100.0 { 0 } else { 1 + usize::from(value < 10.0) };
    format!("{value:.decimals$} {prefix}{unit}")
}
