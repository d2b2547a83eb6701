//! Workers that wait for jobs of their own pool, and whether another worker is left to run these.
//!
//! Such a worker is *counted* until what it waits for has ended. The thread that ends the job removes it from the count, by its
//! waker and before anything else; if that came first, it is never counted. Both happen under the crew's lock, as does the
//! check whether one more would count all workers that there may be. So at that check each of them waits for a job that has not
//! ended, and none is left to run one. The last one then gets an error, and is not counted.
//!
//! A job may also be ended by a thread that is not a worker and cancels it, which takes as long as the drop of its captures. A
//! worker that would be the last one just then gets the same error.

use brigade_sync::atomic::{AtomicU32, Ordering};

use super::Idle;

/// Not begun.
const NEW: u32 = 0;
/// Its worker is counted.
const COUNTED: u32 = 1;
/// What it waits for has ended.
const ENDED: u32 = 2;

/// One such wait. It changes only under the crew's lock, except in [`reset`](Self::reset).
#[derive(Debug)]
pub(crate) struct Join(AtomicU32);

impl Join {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(NEW))
    }

    /// Begins again, on the waiting thread while it is not counted. The thread must check for the end of the job after this.
    pub(crate) fn reset(&self) {
        // Ordering: Acquire pairs with the Release in `end_join`: if that came first, the check sees the end of the job.
        self.0.swap(NEW, Ordering::Acquire);
    }
}

impl Idle {
    /// Counts a blocked worker that is about to sleep until a job of the pool [has ended](Self::end_join); `false` if no worker
    /// would be left to run it.
    #[must_use]
    pub(crate) fn begin_join(&self, join: &Join) -> bool {
        let mut crew = self.crew.lock();
        // Ordering: Relaxed: the lock orders it, except for `reset`.
        if join.0.load(Ordering::Relaxed) == ENDED {
            return true;
        }
        let may_be_more = crew.has_room();
        let begins = crew.count.join(may_be_more);
        if begins {
            join.0.store(COUNTED, Ordering::Relaxed);
        }
        begins
    }

    /// Removes a worker from the count: the job has ended, or the worker has stopped waiting. May be called again.
    pub(crate) fn end_join(&self, join: &Join) {
        let mut crew = self.crew.lock();
        // Ordering: Release, as in `reset`.
        if join.0.swap(ENDED, Ordering::Release) == COUNTED {
            crew.count.end_join();
        }
    }
}
