//! What a worker has to do with timers and I/O events.

use core::cell::Cell;

/// The polls of one worker, and its sleeps on the driver.
#[derive(Default)]
pub(super) struct Rests {
    /// Whether it polls now.
    polls: Cell<bool>,
    /// Whether it has slept on the driver since the last search began.
    has_slept: Cell<bool>,
}

impl Rests {
    /// Notes that a search begins; returns whether the worker has slept on the driver since the last one.
    pub(super) fn begin_search(&self) -> bool {
        self.has_slept.take()
    }

    /// Whether the worker has slept on the driver since the last search began.
    pub(super) fn has_slept(&self) -> bool {
        self.has_slept.get()
    }

    /// Notes that it sleeps on the driver.
    pub(super) fn sleep(&self) {
        self.has_slept.set(true);
    }

    /// Calls what polls without sleeping.
    pub(super) fn poll(&self, poll: impl FnOnce()) {
        self.polls.set(true);
        poll();
        self.polls.set(false);
    }

    /// Whether the worker polls without sleeping now: what it queues is what events wake.
    pub(super) fn polls(&self) -> bool {
        self.polls.get()
    }
}
