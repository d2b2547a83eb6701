//! The recent actions of a worker, which decide how it looks for work and how it waits.

use core::cell::Cell;

/// The recent actions of a worker.
#[derive(Default)]
pub(super) struct Activity {
    /// Whether the worker polls now.
    polls: Cell<bool>,
    /// Whether the worker has slept on the driver since the last search.
    has_slept_on_driver: Cell<bool>,
    /// Whether the worker has run parts, or waited for stolen parts.
    has_run_parts: Cell<bool>,
    /// The peer woken last, until this worker has checked whether it runs.
    woken: Cell<Option<usize>>,
    /// Whether the worker runs only futures that yield, in a draining pool.
    only_yields: Cell<bool>,
    /// Whether the last job taken in turn came from the mailbox.
    came_by_mail: Cell<bool>,
    /// Whether a search has found a job since the worker started.
    has_found: Cell<bool>,
}

impl Activity {
    /// Begins a search; returns whether the worker has slept on the driver since the last search, and whether it has
    /// run parts.
    pub(super) fn begin_search(&self) -> (bool, bool) {
        (self.has_slept_on_driver.take(), self.has_run_parts.take())
    }

    /// Notes that a search has found a job.
    pub(super) fn finds(&self) {
        self.has_found.set(true);
    }

    /// Whether no search has found a job since the worker started.
    pub(super) fn has_found_nothing(&self) -> bool {
        !self.has_found.get()
    }

    /// Whether the worker has slept on the driver since the last search began.
    pub(super) fn has_slept_on_driver(&self) -> bool {
        self.has_slept_on_driver.get()
    }

    /// Notes a sleep on the driver.
    pub(super) fn sleep_on_driver(&self) {
        self.has_slept_on_driver.set(true);
    }

    /// Notes that the worker runs parts, or waits for parts.
    pub(super) fn run_parts(&self) {
        self.has_run_parts.set(true);
    }

    /// Notes a woken peer.
    pub(super) fn wake(&self, peer: Option<usize>) {
        self.woken.set(peer);
    }

    /// Takes the peer woken since the last call.
    pub(super) fn take_woken(&self) -> Option<usize> {
        self.woken.take()
    }

    /// Notes whether the worker runs only futures that yield; `true` if this has changed.
    #[inline]
    pub(super) fn yields(&self, only: bool) -> bool {
        self.only_yields.replace(only) != only
    }

    /// Notes whether the job comes from the mailbox; returns whether the previous job did.
    pub(super) fn comes_by_mail(&self, comes: bool) -> bool {
        self.came_by_mail.replace(comes)
    }

    /// Calls a closure that polls without sleeping.
    pub(super) fn poll(&self, poll: impl FnOnce()) {
        self.polls.set(true);
        poll();
        self.polls.set(false);
    }

    /// Whether the worker polls without sleeping now: the jobs queued meanwhile come from events.
    pub(super) fn polls(&self) -> bool {
        self.polls.get()
    }
}
