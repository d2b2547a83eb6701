//! Faults that the laboratory can inject, so that its tests can check that it detects them.

use std::iter;
use std::ops::Range;

/// What happens to one task of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: every task is submitted once.
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

/// Microseconds that a task of a slow target computes: much beside a task that does nothing.
pub(crate) const SLOW_US: u64 = 50;

/// The faults by name, as `--inject` has them.
const NAMES: [(&str, Fault); 5] = [
    ("lost", Fault::Lost),
    ("repeated", Fault::Repeated),
    ("died", Fault::Died),
    ("stuck", Fault::Stuck),
    ("slow", Fault::Slow),
];

impl Fault {
    /// The fault with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(other, _)| *other == name).map(|(_, fault)| *fault)
    }

    /// Its name, if it is one.
    pub(crate) fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(_, fault)| *fault == self).map(|(name, _)| *name)
    }

    /// Each of these tasks, as often as it must be submitted.
    pub(crate) fn tasks(self, tasks: Range<u32>) -> impl Iterator<Item = u32> {
        tasks.flat_map(move |task| iter::repeat_n(task, self.copies(task)))
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
