//! Cancelling jobs: a job that has not started never starts, a running job is asked to stop.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use brigade_task::JoinError;

use super::join::JoinHandle;
use crate::engine::{CURRENT, Worker};
use crate::values::opaque;

/// Returns whether the calling job has been asked to stop: its handle was [cancelled](JoinHandle::cancel), or its
/// pool is being [discarded](crate::Shutdown::Discard), which also applies to a job without a handle. Returns `false`
/// outside of a job.
///
/// A job that does not call this is not stopped. The call costs a few loads, so a loop may make it in every
/// iteration. Everything before the cancellation happens before this returns `true`. A job run inside a
/// [join](JoinHandle::join) has its own flag; when it has ended, this reads the outer job's flag again. Forks,
/// parallel loops, jobs of a [`Scope`](crate::Scope) and [installed](crate::Handle::install) calls are part of the
/// job waiting for them, on any thread: in them, this reads the flag of the waiting job.
///
/// ```
/// use std::sync::mpsc;
/// let pool = brigade::Pool::new(1);
/// let (begun, begins) = mpsc::channel();
/// let search = pool.submit(move || {
///     _ = begun.send(());
///     (0_u64..).find(|_| brigade::cancelled())
/// });
/// begins.recv()?;
/// assert!(!search.cancel(), "it has started");
/// assert!(search.join()?.is_some(), "but it stopped when it was asked to");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn cancelled() -> bool {
    brigade_task::is_cancelled() || CURRENT.with(|worker| worker.is_some_and(Worker::discards))
}

/// A handle that cancels its job on drop, or asks a started job to stop.
///
/// Made by [`JoinHandle::cancel_on_drop`].
///
/// ```
/// use std::sync::mpsc;
/// let pool = brigade::Pool::new(1);
/// let (go, wait) = mpsc::channel::<()>();
/// pool.execute(move || _ = wait.recv()); // The only thread is busy.
/// drop(pool.submit(|| unreachable!("cancelled before it started")).cancel_on_drop());
/// drop(go);
/// assert_eq!(pool.shutdown(brigade::Shutdown::Drain).discarded, 1);
/// ```
#[doc(alias = "AbortOnDropHandle")]
#[must_use = "dropping it cancels the job"]
pub struct CancelOnDrop<T>(Option<JoinHandle<T>>);

impl<T> JoinHandle<T> {
    /// Cancels the job when the handle is dropped, or asks it to stop if it has started by then.
    ///
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let waits = pool.spawn(std::future::pending::<()>());
    /// drop(waits.cancel_on_drop());
    /// pool.shutdown(brigade::Shutdown::Finish); // Would wait for the future otherwise.
    /// assert_eq!(pool.metrics().cancelled, 1);
    /// ```
    pub fn cancel_on_drop(self) -> CancelOnDrop<T> {
        CancelOnDrop(Some(self))
    }
}

impl<T> CancelOnDrop<T> {
    /// Returns the inner handle, which detaches the job when it is dropped.
    pub fn into_inner(mut self) -> JoinHandle<T> {
        match self.0.take() {
            Some(handle) => handle,
            None => unreachable!("it is taken by value only"),
        }
    }

    /// Waits until the job has ended and takes the outcome; see [`JoinHandle::join`].
    ///
    /// # Errors
    /// As for [`JoinHandle::join`].
    ///
    /// # Panics
    /// As for [`JoinHandle::join`].
    #[track_caller]
    pub fn join(self) -> Result<T, JoinError> {
        self.into_inner().join()
    }
}

impl<T> Drop for CancelOnDrop<T> {
    fn drop(&mut self) {
        if let Some(handle) = &mut self.0 {
            handle.cancel();
        }
    }
}

impl<T> Future for CancelOnDrop<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// If the outcome was taken before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Some(handle) => Pin::new(handle).poll(context),
            None => unreachable!("it is taken by value only"),
        }
    }
}

opaque!(CancelOnDrop<T>);
