//! What a wait needs room for, which a thread keeps from one wait to the next: driving allocates nothing.

use std::cell::Cell;
use std::sync::Arc;
use std::task::Waker;

use crate::sys::{Events, Source};

std::thread_local! {
    /// The room that this thread used last. A thread's rather than the driver's, as whoever wakes needs it when the next
    /// one drives already. Empty, so that its end runs no user code.
    static KEPT: Cell<Option<Box<Room>>> = const { Cell::new(None) };
}

/// Room for what one wait brings.
pub(crate) struct Room {
    /// What was heard of sources.
    pub(crate) events: Events,
    /// Whom it wakes.
    pub(crate) wakers: Vec<Waker>,
    /// Of which the kernel has to be asked something else.
    pub(crate) unsettled: Vec<Arc<Source>>,
}

impl Room {
    /// This thread's; another one if it is in use, by whoever woke the caller, or if the thread ends.
    pub(crate) fn take() -> Box<Self> {
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        kept.unwrap_or_else(|| {
            Box::new(Self { events: Events::new(), wakers: Vec::new(), unsettled: Vec::new() })
        })
    }

    /// Leaves it to the next call of this thread.
    pub(crate) fn keep(self: Box<Self>) {
        debug_assert!(self.wakers.is_empty() && self.unsettled.is_empty());
        // The thread ends: nobody will ask for it.
        let _ = KEPT.try_with(|kept| kept.set(Some(self)));
    }

    /// Calls `wake` for each waker; returns how many there were. If it panics, the others are woken all the same.
    pub(crate) fn wake_all(&mut self, wake: &mut impl FnMut(Waker)) -> usize {
        let count = self.wakers.len();
        let mut rest = Rest(self.wakers.drain(..));
        for waker in rest.0.by_ref() {
            wake(waker);
        }
        count
    }
}

/// Who is still to be woken.
struct Rest<'a>(std::vec::Drain<'a, Waker>);

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        for waker in self.0.by_ref() {
            // Unwinding already: a second panic would abort.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waker.wake()));
        }
    }
}
