//! Faults for the laboratory to inject, so its tests can check their detection.

use std::iter;
use std::ops::Range;

use clap::ValueEnum;

/// A fault of one task of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// Nothing: every task is submitted once.
    #[value(skip)]
    None,
    /// The first task is never submitted.
    Lost,
    /// The first task is submitted twice.
    Repeated,
    /// The task in the middle of a line panics when half of all bytes have passed it. It is for lines
    /// only.
    Died,
    /// The run does not end, although every task has run.
    Stuck,
    /// Every task computes for [`SLOW_US`] before it is counted.
    Slow,
}

/// Microseconds computed by a task of a slow target: much beside an empty task.
pub(crate) const SLOW_US: u64 = 50;

impl Fault {
    /// Each of these tasks, as often as it must be submitted.
    pub(crate) fn tasks(self, tasks: Range<u32>) -> impl Iterator<Item = u32> {
        // None but the first has a fault: the others are a plain loop, whose price is in the measurement.
        let (first, rest) = (tasks.clone().take(1), tasks.skip(1));
        first.flat_map(move |task| iter::repeat_n(task, self.copies(task))).chain(rest)
    }

    /// How often the task with this index must be submitted.
    #[inline]
    pub(crate) fn copies(self, index: u32) -> usize {
        match (self, index) {
            (Fault::Lost, 0) => 0,
            (Fault::Repeated, 0) => 2,
            _ => 1,
        }
    }
}
