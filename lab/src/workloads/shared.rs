//! What all jobs of a run share.

use crate::workloads::prelude::*;

/// The state that all jobs of a run share; leaked, so that a job needs one word for it and no reference count, and may run late, when
/// the run has failed. It is some cache lines per run.
pub(crate) struct Shared<T> {
    /// Counts the jobs.
    pub(crate) tally: &'static Tally,
    /// The origin of all times.
    pub(crate) epoch: Epoch,
    /// Counts the ends of jobs that the thread which made this waits for.
    pub(crate) latch: Latch,
    /// What the jobs of one workload share besides.
    pub(crate) own: T,
}

impl<T> Shared<T> {
    /// The state of a run, of which this is the workload's own.
    pub(crate) fn leak(bench: &Bench, own: T) -> &'static Self {
        let epoch = Epoch::new();
        Box::leak(Box::new(Shared { tally: bench.tally, epoch, latch: Latch::new(epoch), own }))
    }
}
