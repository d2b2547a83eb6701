//! Blocking a thread of a run until another one, or the clock, lets it go on.

use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

use shuttle_engine::runtime::execution::ExecutionState;
use shuttle_engine::runtime::task::TaskId;

const WAITS: u8 = 0;
const WOKEN: u8 = 1;
const LATE: u8 = 2;

/// One wait of one thread.
#[derive(Debug)]
pub(crate) struct Waiter {
    thread: TaskId,
    state: AtomicU8,
}

impl Waiter {
    /// Of the calling thread.
    pub(crate) fn new() -> Arc<Self> {
        let thread = ExecutionState::with(|state| state.current().id());
        Arc::new(Self { thread, state: AtomicU8::new(WAITS) })
    }

    /// Blocks until it is woken, its time is over, or spuriously; returns whether it was one of the first two.
    #[track_caller]
    pub(crate) fn block(&self) -> bool {
        if self.state.load(Ordering::Relaxed) == WAITS {
            ExecutionState::with(|state| state.current_mut().block(true));
            shuttle_engine::runtime::thread::switch();
        }
        self.state.load(Ordering::Relaxed) != WAITS
    }

    /// Ends the wait; returns whether it had not ended.
    pub(crate) fn wake(&self) -> bool {
        self.finish(WOKEN)
    }

    /// The same, as its time is over.
    pub(crate) fn is_late(&self) -> bool {
        self.finish(LATE)
    }

    fn finish(&self, state: u8) -> bool {
        let waited = self.state.load(Ordering::Relaxed) == WAITS;
        if waited {
            self.state.store(state, Ordering::Relaxed);
            ExecutionState::with(|execution| execution.get_mut(self.thread).unblock());
        }
        waited
    }
}

/// The number of the calling thread in its run: 0 is the one that began it.
pub fn number() -> usize {
    ExecutionState::with(|state| state.try_current().map_or(0, |task| task.id().into()))
}
