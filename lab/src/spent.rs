//! What a run takes in all: from before its target starts until after that has ended, beside what the workload itself measures.

use std::fs;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::apart;
use crate::usage::Usage;

/// What one run took.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Spent {
    /// Seconds.
    pub(crate) wall: f64,
    /// What this process used, and those that it started for the run.
    #[serde(flatten)]
    pub(crate) usage: Usage,
    /// How many single values are behind its percentiles, if it has some.
    pub(crate) count: u64,
    /// The most bytes of this process that were in memory at a time, with what earlier runs left, if the system tells.
    pub(crate) peak: Option<f64>,
}

/// A run that has begun.
pub(crate) struct Spending {
    /// When.
    begun: Instant,
    /// What was used before it.
    before: Usage,
    /// Whether the peak of the memory begins anew with it.
    has_peak: bool,
}

impl Spending {
    /// A run begins, in this process or in another.
    pub(crate) fn begin(is_apart: bool) -> Self {
        let has_peak = !is_apart && fs::write("/proc/self/clear_refs", RESET_PEAK).is_ok();
        Spending { begun: Instant::now(), before: Usage::of_all(), has_peak }
    }

    /// It has ended.
    pub(crate) fn end(&self) -> Spent {
        let peak = if self.has_peak { apart::peak().ok() } else { None };
        Spent {
            wall: self.begun.elapsed().as_secs_f64(),
            usage: Usage::of_all().plus(self.before, -1.0),
            count: 0,
            peak: peak.map(|bytes| bytes as f64),
        }
    }
}

/// What resets the peak of the resident memory: `man 5 proc_pid_clear_refs`.
const RESET_PEAK: &str = "5";

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Spending;
    use crate::apart::{bytes, peak};
    use std::hint::black_box;

    #[test]
    fn memory_is_resident_once_it_is_written() {
        const SIZE: usize = 64 << 20;
        let before = bytes().expect("read");
        let mut block = black_box(Vec::<u8>::with_capacity(SIZE));
        let reserved = bytes().expect("read");
        block.resize(SIZE, 1);
        let written = bytes().expect("read");
        // Other tests of this process allocate some and free it.
        assert!(reserved < before + (SIZE as u64) / 2, "{before} {reserved}");
        assert!(written > reserved + (SIZE as u64) / 2, "{reserved} {written}");
        drop(black_box(block));
        // What is freed remains in the peak, which is off by some pages. A run of another test may reset it just then.
        let remains = || {
            drop(black_box(vec![1_u8; SIZE]));
            peak().expect("read") > before + (SIZE as u64) / 2
        };
        assert!((0..20).any(|_| remains()));
        // A run has a peak of its own; in this test, as no two may reset it.
        let spent = Spending::begin(false).end();
        let peak = spent.peak.expect("told");
        assert!(peak < (written - (SIZE as u64) / 2) as f64 && spent.wall > 0.0, "{spent:?}");
        assert!(Spending::begin(true).end().peak.is_none(), "that of another process");
    }
}
