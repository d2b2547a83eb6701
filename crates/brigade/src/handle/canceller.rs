//! Cancelling a job without its handle.

use std::sync::Arc;

use brigade_task::{Asked, Canceller, Cause, JobHandle, Outcome};

use crate::engine::{At, Key, drop_value_off_pool, may_nest, reach};
use crate::values::opaque;

/// Cancels a job without its [`JoinHandle`](crate::JoinHandle); made by
/// [`JoinHandle::cancel_handle`](crate::JoinHandle::cancel_handle).
///
/// It is `Clone`, and may be used from any thread, even while another thread waits for the job. Dropping it has no
/// effect.
///
/// ```
/// let pool = brigade::Pool::new(1);
/// let waits = pool.spawn(std::future::pending::<()>());
/// let stop = waits.cancel_handle();
/// std::thread::spawn(move || stop.cancel());
/// assert!(waits.join().unwrap_err().is_cancelled());
/// ```
#[doc(alias = "AbortHandle")]
#[derive(Clone)]
pub struct CancelHandle {
    /// `None` if the handle no longer had a job: a wait had returned a deadlock, or the job belonged to the parent of
    /// a fork.
    canceller: Option<Arc<Canceller>>,
    key: Key,
}

impl CancelHandle {
    pub(crate) fn new(canceller: Option<Arc<Canceller>>, key: Key) -> Self {
        Self { canceller, key }
    }

    /// Cancels the job like [`JoinHandle::cancel`](crate::JoinHandle::cancel), with the same return value.
    ///
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let waits = pool.spawn(std::future::pending::<()>());
    /// let stop = waits.cancel_handle();
    /// assert!(stop.cancel());
    /// assert!(waits.join().unwrap_err().is_cancelled());
    /// assert!(!stop.cancel(), "it has ended");
    /// ```
    #[doc(alias = "abort")]
    pub fn cancel(&self) -> bool {
        self.cancel_for(Cause::Asked)
    }

    /// Cancels the job for a cause.
    pub(crate) fn cancel_for(&self, cause: Cause) -> bool {
        self.canceller.as_ref().is_some_and(|canceller| {
            let settle = || canceller.drop_if_unclaimed(cause);
            let ask = |may_drop| canceller.ask_to_stop(may_drop, cause);
            cancel_job(self.key, canceller.is_of_future(), &settle, &ask)
        })
    }

    /// Returns whether the job has ended.
    ///
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let job = pool.submit(|| ());
    /// let handle = job.cancel_handle();
    /// job.join()?;
    /// assert!(handle.is_finished());
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn is_finished(&self) -> bool {
        self.canceller.as_ref().is_none_or(|canceller| canceller.is_finished())
    }
}

opaque!(CancelHandle: is_finished);

/// Cancels a job when it is dropped.
struct LateCancel(CancelHandle);

impl Drop for LateCancel {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Cancels the job of a handle that is dropped. While drops nest deeply a closure is cancelled after them, because each
/// closure may own the handle of the next.
pub(crate) fn cancel_at_drop(job: &JobHandle, known: Option<Arc<Canceller>>, key: Key) {
    let mut late = known;
    if job.is_of_future() || may_nest() {
        late = None;
    } else if late.is_none() {
        late = job.canceller().map(Arc::new);
    }
    if late.is_none() {
        cancel(job, key);
    } else {
        drop_value_off_pool(key, Box::new(LateCancel(CancelHandle::new(late, key))));
    }
}

/// Cancels a job, as [`JoinHandle::cancel`](crate::JoinHandle::cancel) does.
pub(crate) fn cancel(job: &JobHandle, key: Key) -> bool {
    let settle = || job.settle_if_unclaimed(Some(Cause::Asked));
    cancel_job(key, job.is_of_future(), &settle, &|may_drop| job.ask_to_stop(may_drop))
}

/// Cancels a job of a pool, and returns whether it was cancelled. `settle` drops a closure that has not started, and
/// `ask` asks the job to stop, with whether it may drop a future.
///
/// A future that has not been polled is dropped here, like a closure, and leaves its entry in a queue. Any other
/// future is dropped and counted in place of the next poll. So are all futures while drops nest deeply, because each
/// drop may cancel the next future.
pub(crate) fn cancel_job(
    key: Key,
    is_of_future: bool,
    settle: &dyn Fn() -> Option<Outcome>,
    ask: &dyn Fn(bool) -> Asked,
) -> bool {
    let cancel = |at: At<'_>| {
        if is_of_future {
            let asked = ask(may_nest());
            if asked == Asked::Dropped {
                at.leaves_entry();
            }
            return asked != Asked::Nothing;
        }
        let Some(outcome) = settle() else {
            _ = ask(false);
            return false;
        };
        at.count_released(outcome, None);
        at.leaves_entry();
        true
    };
    let mut is_cancelled = false;
    if key.is_here() {
        reach(key, &mut |at| {
            let _work = at.off_pool();
            is_cancelled = cancel(at);
        });
    }
    is_cancelled
}
