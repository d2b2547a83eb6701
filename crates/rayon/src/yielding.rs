//! Running other jobs inside the current one.

use brigade::foreign::{self, Here};

use crate::registry::as_worker;

/// The result of [`yield_now`] and [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job has been run.
    Executed,
    /// There was none.
    Idle,
}

impl From<bool> for Yield {
    fn from(has_run: bool) -> Self {
        if has_run { Self::Executed } else { Self::Idle }
    }
}

/// Runs a job of the pool if one is queued; `None` on a thread of no pool.
pub fn yield_now() -> Option<Yield> {
    on_worker(|worker| worker.run_one().into())
}

/// Runs a job of this thread's own queues, if any; `None` on a thread of no pool.
pub fn yield_local() -> Option<Yield> {
    on_worker(|worker| worker.run_own().into())
}

/// Whether jobs wait on this thread's own queues; `None` on a thread of no pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    on_worker(|worker| worker.has_queued())
}

/// Calls a closure with the worker of the calling thread.
fn on_worker<R>(call: impl FnOnce(Here<'_>) -> R) -> Option<R> {
    as_worker(|| foreign::here(|worker| worker.map(call)))
}
