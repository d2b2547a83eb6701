//! The jobs that the future of a [`block_on`](crate::block_on) waits for, if it waits only for jobs.
//!
//! Each poll of a handle that is not ready is noted, if it is by the waker of the `block_on`. If nothing else has a clone of that
//! waker, only the end of one of those jobs can wake the thread.

use core::cell::{Cell, RefCell};
use core::task::Waker;

use brigade_task::JobId;

use crate::key::Key;

brigade_sync::scoped_thread_local! {
    /// The poll that this thread is in.
    static CURRENT: Polled
}

/// What one poll has come to wait for.
pub(crate) struct Polled {
    waker: Waker,
    jobs: RefCell<Vec<(JobId, Key)>>,
    /// A job for which it must not wait.
    refused: Cell<Option<JobId>>,
}

impl Polled {
    /// A poll with that waker.
    pub(crate) fn new(waker: Waker) -> Self {
        Self { waker, jobs: RefCell::default(), refused: Cell::new(None) }
    }

    /// Calls what polls, and returns the jobs that it waits for.
    pub(crate) fn poll<R>(&self, poll: impl FnOnce(&Waker) -> R) -> (R, Vec<(JobId, Key)>) {
        self.jobs.borrow_mut().clear();
        let result = CURRENT.set(self, || poll(&self.waker));
        (result, self.jobs.take())
    }

    /// Has the next poll of that job's handle say that the wait would be for ever.
    pub(crate) fn refuse(&self, job: JobId) {
        self.refused.set(Some(job));
    }
}

/// A handle is not ready, and has been polled with that waker: notes that; `true` if it must not be waited for.
pub(crate) fn note(waker: &Waker, job: JobId, pool: Key) -> bool {
    CURRENT.with(|polled| {
        let Some(polled) = polled.filter(|polled| polled.waker.will_wake(waker)) else {
            return false;
        };
        polled.jobs.borrow_mut().push((job, pool));
        let is_refused = polled.refused.get() == Some(job);
        if is_refused {
            polled.refused.set(None);
        }
        is_refused
    })
}
