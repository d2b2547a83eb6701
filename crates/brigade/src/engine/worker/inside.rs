//! The depths of a worker's nested waits and blocking calls.

use core::cell::Cell;

use super::Worker;

/// The depths of a worker.
#[derive(Default)]
pub(super) struct Depths {
    /// Nested waits that run jobs inside the current job.
    waits: Cell<usize>,
    /// Nested blocking calls.
    blocks: Cell<usize>,
}

/// A wait that runs jobs inside the current job, or a blocking call, until this is dropped.
pub(crate) struct RunsInside<'a>(&'a Cell<usize>);

impl<'a> RunsInside<'a> {
    fn begin(depth: &'a Cell<usize>) -> Self {
        depth.set(depth.get() + 1);
        Self(depth)
    }
}

impl Drop for RunsInside<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Depths {
    /// Begins a blocking call.
    pub(super) fn block(&self) -> RunsInside<'_> {
        RunsInside::begin(&self.blocks)
    }

    /// Whether the worker is in a blocking call.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocks.get() > 0
    }
}

impl Worker {
    /// Counts jobs as inside the current job until the returned value is dropped.
    pub(crate) fn run_inside_job(&self) -> RunsInside<'_> {
        RunsInside::begin(&self.depths.waits)
    }

    /// Whether the current job is inside a waiting job.
    pub(super) fn is_inside(&self) -> bool {
        self.depth() > 0
    }

    /// The number of waits on this worker's stack that run jobs.
    pub(super) fn depth(&self) -> usize {
        self.depths.waits.get()
    }
}
