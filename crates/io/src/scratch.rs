//! Buffers for the results of a wait, which a thread reuses for the next: driving allocates nothing.

use std::cell::Cell;
use std::sync::Arc;
use std::task::Waker;

use crate::sys::{Events, Source};

brigade_sync::unmodelled::thread_local! {
    /// The buffers used last by this thread. They belong to the thread and not to the driver: they are in use while the
    /// tasks are woken, when another thread may drive already. They are empty, so the end of the thread runs no user code.
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// The buffers.
pub(crate) struct Scratch {
    /// The reports of the operating system.
    pub(crate) events: Events,
    /// The wakers of the tasks that waited for them.
    pub(crate) wakers: Vec<Waker>,
    /// The sources whose interest must change.
    pub(crate) changed: Vec<Arc<Source>>,
}

impl Scratch {
    /// Takes this thread's buffers; makes others if they are in use, by an outer call on this thread that is waking
    /// tasks, or if the thread ends.
    pub(crate) fn take() -> Box<Self> {
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        kept.unwrap_or_else(|| {
            Box::new(Self { events: Events::new(), wakers: Vec::new(), changed: Vec::new() })
        })
    }

    /// Leaves them to the thread's next call.
    pub(crate) fn keep(self: Box<Self>) {
        debug_assert!(self.wakers.is_empty() && self.changed.is_empty());
        // It fails if the thread ends, and then the buffers are not needed.
        let _ = KEPT.try_with(|kept| kept.set(Some(self)));
    }

    /// Calls `wake` for each waker; returns how many there were. If it panics, the remaining tasks are still woken.
    pub(crate) fn wake_all(&mut self, wake: &mut impl FnMut(Waker)) -> usize {
        let count = self.wakers.len();
        let mut remaining = Remaining(self.wakers.drain(..));
        for waker in remaining.0.by_ref() {
            wake(waker);
        }
        count
    }
}

/// The uncalled wakers.
struct Remaining<'a>(std::vec::Drain<'a, Waker>);

impl Drop for Remaining<'_> {
    fn drop(&mut self) {
        for waker in self.0.by_ref() {
            // Unwinding already: a second panic would abort.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waker.wake()));
        }
    }
}
