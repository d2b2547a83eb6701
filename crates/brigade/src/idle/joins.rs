//! Workers that wait for jobs of their own pool, and whether any other is left to run these.
//!
//! Such a worker is *counted* until what it waits for has ended. The thread that ends the job takes it out, by its waker and
//! before anything else; if that came first it is never counted. Both happen under the crew's lock, as does the look whether
//! all workers that there may be would be counted with one more. So at that look each of them waits for a job that has not
//! ended, and none is left to run one. The last one then gets an error, and is not counted.
//!
//! A job may also be ended by a thread that is no worker and cancels it, which takes as long as its captures take to be
//! dropped. A worker that would be the last at that very moment gets the same error.

use brigade_sync::atomic::{AtomicU32, Ordering};

use super::Idle;

/// Not begun.
const NEW: u32 = 0;
/// Its worker is counted.
const COUNTED: u32 = 1;
/// What it waits for has ended.
const ENDED: u32 = 2;

/// One such wait. It changes only under the crew's lock, except that its own thread begins it anew.
#[derive(Debug)]
pub(crate) struct Join(AtomicU32);

impl Join {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(NEW))
    }

    /// As its thread, which is not counted: begins anew, and looks after that whether what it waits for has ended.
    pub(crate) fn reset(&self) {
        // Ordering: Acquire pairs with the Release in `end_join`: if that came first, the look sees what has ended.
        self.0.swap(NEW, Ordering::Acquire);
    }
}

impl Idle {
    /// A blocked worker is about to sleep until a job of the pool [has ended](Self::end_join); `false` if no worker would be
    /// left to run it.
    #[must_use]
    pub(crate) fn begin_join(&self, join: &Join) -> bool {
        let mut crew = self.crew.lock();
        // Ordering: Relaxed: by the lock, except where `reset` is named.
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

    /// What the worker waits for has ended, or it has stopped waiting. May be called again.
    pub(crate) fn end_join(&self, join: &Join) {
        let mut crew = self.crew.lock();
        // Ordering: Release, as in `reset`.
        if join.0.swap(ENDED, Ordering::Release) == COUNTED {
            crew.count.end_join();
        }
    }
}
