//! Workers that join jobs of their own pool, and whether anybody is left to run those.
//!
//! Such a worker is *counted* until the job has ended. Whoever ends the job takes it out, by its waker and before anything
//! else; and if that came first it is never counted. Both are done under the crew's lock, as is the look whether all workers
//! that there may be would be counted with one more. So at that look each of them waits for a job that has not ended, and
//! nobody is left to go on with one: that last one is told so, and is not counted.
//!
//! A job may also be ended by who is no worker and cancels it, which takes as long as its captures take to be dropped. Who
//! would be the last at that very moment is told the same.

use brigade_sync::atomic::{AtomicU32, Ordering};

use super::Idle;

/// Nothing has come of it yet.
const NEW: u32 = 0;
/// Its worker is counted.
const COUNTED: u32 = 1;
/// Its job has ended.
const ENDED: u32 = 2;

/// One join. It changes under the crew's lock alone.
pub(crate) struct Join(AtomicU32);

impl Join {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(NEW))
    }
}

impl Idle {
    /// A blocked worker is about to sleep until a job of the pool has ended, which whoever ends it [says](Self::end_join);
    /// `false` if nobody would be left to run it.
    #[must_use]
    pub(crate) fn begin_join(&self, join: &Join) -> bool {
        let mut crew = self.crew.lock();
        // Ordering: Relaxed, here and below: by the lock.
        if join.0.load(Ordering::Relaxed) == ENDED {
            return true;
        }
        if crew.joining + 1 == crew.live && !crew.has_room() {
            return false;
        }
        crew.joining += 1;
        join.0.store(COUNTED, Ordering::Relaxed);
        true
    }

    /// The job that is joined has ended. May be called again.
    pub(crate) fn end_join(&self, join: &Join) {
        let mut crew = self.crew.lock();
        if join.0.load(Ordering::Relaxed) == COUNTED {
            crew.joining -= 1;
        }
        join.0.store(ENDED, Ordering::Relaxed);
    }
}
