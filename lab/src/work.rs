//! Work that takes CPU time and nothing else.
//!
//! It is counted in units of arithmetic, not in elapsed time: a loop that looks at the clock would
//! count time under preemption as work done, and so hide two workers on one CPU.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

/// Does `units` units of arithmetic, each dependent on the former.
#[inline]
pub(crate) fn grind(units: u64) {
    let mut value = units;
    for _ in 0..units {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1));
    }
}

/// Units in one calibration run: about 0.2 ms, well below a scheduler's time slice.
const CALIBRATION_UNITS: u64 = 100_000;
/// Calibration runs. The fastest counts: it was disturbed least.
const CALIBRATION_RUNS: usize = 50;

/// How many units take `micros` microseconds on an undisturbed CPU, measured once per process.
pub(crate) fn units_for(micros: u64) -> u64 {
    static UNITS_PER_MICRO: OnceLock<f64> = OnceLock::new();
    let rate = UNITS_PER_MICRO.get_or_init(|| {
        let fastest = (0..CALIBRATION_RUNS).map(|_| {
            let begun = Instant::now();
            grind(CALIBRATION_UNITS);
            begun.elapsed()
        });
        let micros = fastest.min().unwrap_or_default().as_secs_f64() * 1e6;
        CALIBRATION_UNITS as f64 / micros.max(1.0)
    });
    (micros as f64 * rate).round() as u64
}
