//! Jobs that a worker runs inside others, which wait.

use core::cell::Cell;

use super::Worker;

/// The depth of nested jobs that run inside others, besides those of the worker's waits for parts.
#[derive(Default)]
pub(super) struct Inside(Cell<usize>);

/// A job that runs inside another one, or is looked for there, until this is dropped.
pub(super) struct RunsInside<'a>(&'a Cell<usize>);

impl Inside {
    /// What the worker runs until the returned value is dropped is inside the current job.
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
    /// Whether what it runs is inside another job, which waits.
    pub(super) fn is_inside(&self) -> bool {
        self.waits.get() > 0 || self.inside.0.get() > 0
    }
}
