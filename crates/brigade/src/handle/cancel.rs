//! Cancelling jobs: a job that has not started never starts, a running job is asked to stop.

#[cfg(doc)]
use super::join::JoinHandle;
use crate::engine::{Worker, with_worker};

/// Returns whether the calling job has been asked to stop: its handle was [cancelled](JoinHandle::cancel), or its
/// pool is being [discarded](crate::Shutdown::Discard), which also applies to a job without a handle. Returns `false`
/// outside of a job.
///
/// A job that does not call this is not stopped. The call costs a few loads, and in a closure of a set with a
/// [deadline](crate::TaskSet::deadline) a look at the clock, so a loop may make it in every iteration. Everything before the cancellation happens before this returns `true`. A job run inside a
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
    brigade_task::is_cancelled() || discards()
}

/// Whether the pool of the calling worker is being discarded.
pub(crate) fn discards() -> bool {
    with_worker(|own| own.is_some_and(Worker::discards))
}
