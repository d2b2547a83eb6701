//! Blocking a thread of a run until another thread, or the clock, lets it go on.

use core::sync::atomic::{AtomicBool, Ordering};
use std::string::String;
use std::sync::Arc;

use shuttle_engine::runtime::execution::ExecutionState;
use shuttle_engine::runtime::task::TaskId;

/// A wait of a thread.
#[derive(Debug)]
pub(crate) struct Waiter {
    thread: TaskId,
    /// Whether it is over, and not only interrupted.
    is_over: AtomicBool,
}

impl Waiter {
    /// Of the calling thread.
    pub(crate) fn new() -> Arc<Self> {
        let thread = ExecutionState::with(|state| state.current().id());
        Arc::new(Self { thread, is_over: AtomicBool::new(false) })
    }

    /// Blocks until the wait is over, or less, for no reason; returns whether it is over.
    #[track_caller]
    pub(crate) fn block(&self) -> bool {
        if !self.is_over.load(Ordering::Relaxed) {
            ExecutionState::with(|state| state.current_mut().block(true));
            shuttle_engine::runtime::thread::switch();
        }
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ends the wait; returns whether it was not over.
    pub(crate) fn wake(&self) -> bool {
        let waited = !self.is_over.swap(true, Ordering::Relaxed);
        if waited {
            ExecutionState::with(|execution| execution.get_mut(self.thread).unblock());
        }
        waited
    }
}

/// The name of the calling thread, if any.
pub(super) fn name() -> String {
    ExecutionState::with(|state| state.current().name()).unwrap_or_default()
}

/// The number of the calling thread in the run: 0 is the thread that began it.
pub fn number() -> usize {
    ExecutionState::with(|state| state.try_current().map_or(0, |task| task.id().into()))
}
