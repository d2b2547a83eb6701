//! Numbers for people: a prefix and three digits.

/// `value` with a prefix that makes it readable, in three digits or so; a count in two decimals at most. A rate does not name its
/// events: the name of the workload does.
pub(crate) fn short(value: f64, unit: &str) -> String {
    let (is_count, unit) = (is_count(unit), unit.find("s/s").map_or(unit, |end| &unit[end + 1..]));
    if is_count {
        return ((value * 100.0).round() / 100.0).to_string();
    }
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")];
    let fitting = prefixes.into_iter().find(|(scale, _)| value.abs() >= *scale);
    let (scale, prefix) = fitting.unwrap_or((1e-9, "n"));
    let scaled = value / scale;
    match (value.abs(), scaled.abs()) {
        // The smallest prefix says nothing about nothing.
        (0.0, _) => format!("0 {unit}"),
        (HUGE.., _) => format!("{value:.2e} {unit}"),
        (_, 100.0..) => format!("{scaled:.0} {prefix}{unit}"),
        (_, 10.0..) => format!("{scaled:.1} {prefix}{unit}"),
        _ => format!("{scaled:.2} {prefix}{unit}"),
    }
}

/// The same for an optional value.
pub(crate) fn known(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "–".to_owned(), |value| short(value, unit))
}

/// Whether `value` is shown with two digits at least: a ratio to less would be a ratio of rounding errors.
pub(super) fn has_digits(value: f64, unit: &str) -> bool {
    let step = if is_count(unit) { 0.01 } else { 1e-11 };
    value >= 10.0 * step
}

/// Whether this is the unit of a count, or of a median, mean or ratio of counts.
fn is_count(unit: &str) -> bool {
    ["calls", "CPU s/s", "faults", "jobs", "threads", "values", "switches", "%"].contains(&unit)
}

/// Beyond the values of all workloads, but a file may have it: no prefix makes it readable.
const HUGE: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn quantities_are_short() {
        assert_eq!(short(12_345_678.0, "tasks/s"), "12.3 M/s");
        assert_eq!(short(0.000_001_5, "s"), "1.50 µs");
        assert_eq!(short(0.000_000_041_3, "s"), "41.3 ns");
        assert_eq!(short(0.25, "s"), "250 ms");
        assert_eq!(short(98_765.0, "requests/s"), "98.8 k/s");
        assert_eq!([-2e3, 1e300].map(|bytes| short(bytes, "B")), ["-2.00 kB", "1.00e300 B"]);
        assert_eq!([329.4, 0.0].map(|bytes| short(bytes, "B")), ["329 B", "0 B"]);
        assert_eq!([short(0.5, "%"), short(1.949, "CPU s/s")], ["0.5", "1.95"]);
        assert_eq!([0.0, 1.5, 16.0].map(|count| short(count, "threads")), ["0", "1.5", "16"]);
        assert_eq!([2.0, 2.0 / 3.0].map(|count| short(count, "values")), ["2", "0.67"]);
    }
}
