//! Jobs that a worker runs inside others, which wait.

use core::cell::Cell;

use super::Worker;

/// The depth of nested jobs that run inside others, besides those of the worker's waits for parts.
#[derive(Default)]
pub(super) struct Inside(Cell<usize>);

/// A job that runs inside another one, or is looked for there, until this is dropped.
pub(crate) struct RunsInside<'a>(&'a Cell<usize>);

impl Inside {
    /// The jobs that the worker runs until the returned value is dropped are inside the current job.
    pub(super) fn begin(&self) -> RunsInside<'_> {
        self.0.set(self.0.get() + 1);
        RunsInside(&self.0)
    }
}

impl Drop for RunsInside<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Worker {
    /// What the worker runs until the returned value is dropped is inside the current job.
    pub(crate) fn run_inside_job(&self) -> RunsInside<'_> {
        self.inside.begin()
    }

    /// Whether the current job is inside another one, which waits.
    pub(super) fn is_inside(&self) -> bool {
        self.depth() > 0
    }

    /// How many waits that run jobs are on this worker's stack.
    pub(super) fn depth(&self) -> usize {
        self.waits.get() + self.inside.0.get()
    }
}
