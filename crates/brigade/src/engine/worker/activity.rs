//! The recent actions of a worker, which decide how it looks for work, and how it waits.

use core::cell::Cell;

/// The recent actions of one worker.
#[derive(Default)]
pub(super) struct Activity {
    /// Whether it polls now.
    polls: Cell<bool>,
    /// Whether it has slept on the driver, since its last search.
    has_slept_on_driver: Cell<bool>,
    /// Whether it has run parts, or waited for parts that others ran.
    has_run_parts: Cell<bool>,
    /// The peer that it has woken, until it has looked where that runs.
    woken: Cell<Option<usize>>,
    /// Whether it runs only futures that yield, in a pool that drains.
    only_yields: Cell<bool>,
    /// Whether the job it found last came from its mailbox.
    came_by_mail: Cell<bool>,
}

impl Activity {
    /// Begins a search; returns whether the worker has slept on the driver, and whether it has run parts, since the last one.
    pub(super) fn begin_search(&self) -> (bool, bool) {
        (self.has_slept_on_driver.take(), self.has_run_parts.take())
    }

    /// Whether the worker has slept on the driver since the last search began.
    pub(super) fn has_slept_on_driver(&self) -> bool {
        self.has_slept_on_driver.get()
    }

    /// Notes that it sleeps on the driver.
    pub(super) fn sleep_on_driver(&self) {
        self.has_slept_on_driver.set(true);
    }

    /// Notes that it runs parts, or waits for them.
    pub(super) fn run_parts(&self) {
        self.has_run_parts.set(true);
    }

    /// Notes that it has woken a peer.
    pub(super) fn wake(&self, peer: Option<usize>) {
        self.woken.set(peer);
    }

    /// The peer that it has woken since the last call.
    pub(super) fn take_woken(&self) -> Option<usize> {
        self.woken.take()
    }

    /// Notes whether it runs only futures that yield; `true` if that has changed.
    #[inline]
    pub(super) fn yields(&self, only: bool) -> bool {
        self.only_yields.replace(only) != only
    }

    /// Notes whether its job came by mail; returns whether the one before did.
    pub(super) fn comes_by_mail(&self, comes: bool) -> bool {
        self.came_by_mail.replace(comes)
    }

    /// Calls a closure that polls without sleeping.
    pub(super) fn poll(&self, poll: impl FnOnce()) {
        self.polls.set(true);
        poll();
        self.polls.set(false);
    }

    /// Whether the worker polls without sleeping now: the jobs that it queues are those of events.
    pub(super) fn polls(&self) -> bool {
        self.polls.get()
    }
}
