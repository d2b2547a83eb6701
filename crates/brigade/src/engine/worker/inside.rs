//! How deep a worker is in waits and in calls that block.

use core::cell::Cell;

use super::Worker;

/// The depths of one worker.
#[derive(Default)]
pub(super) struct Depths {
    /// Of nested waits that run jobs inside the current job.
    waits: Cell<usize>,
    /// Of nested calls that block.
    blocks: Cell<usize>,
}

/// A wait that runs jobs inside the current job, or a call that blocks, until this is dropped.
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
    /// Begins a call that blocks.
    pub(super) fn block(&self) -> RunsInside<'_> {
        RunsInside::begin(&self.blocks)
    }

    /// Whether the worker is in a call that blocks.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocks.get() > 0
    }
}

impl Worker {
    /// What the worker runs until the returned value is dropped is inside the current job.
    pub(crate) fn run_inside_job(&self) -> RunsInside<'_> {
        RunsInside::begin(&self.depths.waits)
    }

    /// Whether the current job is inside another one, which waits.
    pub(super) fn is_inside(&self) -> bool {
        self.depth() > 0
    }

    /// How many waits that run jobs are on this worker's stack.
    pub(super) fn depth(&self) -> usize {
        self.depths.waits.get()
    }
}
