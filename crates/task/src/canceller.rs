//! Cancelling a job beside the handle.

use crate::act::{Asked, Outcome};
use crate::cause::Cause;
use crate::cell::RawHandle;
use crate::cell::state::CANCELLER;

/// Cancels a job, from any thread, without the handle.
///
/// ```
/// use brigade_task::{Cause, Job, JoinError, Outcome};
/// let (job, handle) = Job::with_handle(|| unreachable!("cancelled"));
/// let cancelled = handle.canceller().and_then(|canceller| canceller.drop_if_unclaimed(Cause::Asked));
/// assert_eq!(cancelled, Some(Outcome::Cancelled(Cause::Asked)));
/// assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))));
/// assert_eq!(job.run(), Outcome::Stale);
/// ```
pub struct Canceller(RawHandle);

// SAFETY: it only changes the state, and claims the closure, which is `Send`, to drop it; a future is dropped by its scheduler.
unsafe impl Send for Canceller {}
// SAFETY: an atomic decides all it does.
unsafe impl Sync for Canceller {}

impl Canceller {
    /// Takes the canceller's side of a cell.
    pub(crate) fn new(raw: RawHandle) -> Self {
        Self(raw)
    }

    /// Drops an unclaimed closure on this thread, for a cause; returns the outcome.
    ///
    /// Returns `None` if a thread has begun to run or drop it. The job in the queue becomes [stale](Outcome::Stale).
    pub fn drop_if_unclaimed(&self, cause: Cause) -> Option<Outcome> {
        self.0.settle_if_unclaimed(Some(cause))
    }

    /// Asks a running closure to stop, and cancels a future for a cause; see [`JobHandle::ask_to_stop`](crate::JobHandle::ask_to_stop).
    pub fn ask_to_stop(&self, may_drop: bool, cause: Cause) -> Asked {
        self.0.request_stop(may_drop, cause)
    }

    /// Returns whether the job is a future.
    pub fn is_of_future(&self) -> bool {
        self.0.is_of_future()
    }

    /// Returns whether the job has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_done()
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        // SAFETY: Life rule: it is not used again.
        unsafe { self.0.release(CANCELLER) };
    }
}

brigade_sync::opaque!(Canceller: is_finished);
