//! The state shared by all jobs of a run.

use crate::workloads::prelude::*;

/// The state shared by all jobs of a run; leaked, so a job needs a single word for it and no reference count, and may run late, when
/// the run has failed. It is some cache lines per run.
pub(crate) struct Shared<T> {
    /// Counts the jobs.
    pub(crate) tally: &'static Tally,
    /// The origin of all times.
    pub(crate) epoch: Epoch,
    /// Counts the ends of jobs; the thread that made this waits for them.
    pub(crate) latch: Latch,
    /// The state shared by the jobs of a particular workload.
    pub(crate) own: T,
}

impl<T> Shared<T> {
    /// The state of a run, of which this is the workload's own.
    pub(crate) fn leak(bench: &Bench, own: T) -> &'static Self {
        let epoch = Epoch::new();
        Box::leak(Box::new(Shared { tally: bench.tally, epoch, latch: Latch::new(epoch), own }))
    }
}
