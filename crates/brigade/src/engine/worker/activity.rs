//! The recent actions of a worker, which decide how it looks for work and how it waits, and the depths of its nested
//! waits and blocking calls.

use core::cell::Cell;

use super::Worker;

/// The recent actions of a worker.
#[derive(Default)]
pub(super) struct Activity {
    /// Whether the worker polls without sleeping now: the jobs queued meanwhile come from events.
    pub(super) polls: Cell<bool>,
    /// Whether the worker has slept on the driver since the last search.
    pub(super) has_slept_on_driver: Cell<bool>,
    /// Whether the worker has run parts, or waited for stolen parts.
    pub(super) has_run_parts: Cell<bool>,
    /// The peer woken last, until this worker has checked whether it runs.
    pub(super) woken: Cell<Option<usize>>,
    /// Whether the worker runs only futures that yield, in a draining pool.
    pub(super) only_yields: Cell<bool>,
    /// Whether the last job taken in turn came from the mailbox.
    pub(super) came_by_mail: Cell<bool>,
    /// Whether a search has found a job since the worker started.
    pub(super) has_found: Cell<bool>,
}

/// The depths of a worker.
#[derive(Default)]
pub(super) struct Depths {
    /// Nested waits that run jobs inside the current job.
    pub(super) waits: Cell<usize>,
    /// Nested blocking calls.
    pub(super) blocks: Cell<usize>,
}

/// A wait that runs jobs inside the current job, or a blocking call, until this is dropped.
pub(crate) struct RunsInside<'a>(&'a Cell<usize>);

impl<'a> RunsInside<'a> {
    pub(super) fn begin(depth: &'a Cell<usize>) -> Self {
        depth.set(depth.get() + 1);
        Self(depth)
    }
}

impl Drop for RunsInside<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
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
