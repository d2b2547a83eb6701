//! Rejected jobs: the errors of a pool that does not accept a job.

use core::fmt;
use std::io;

use brigade_sync::Exclusive;
use brigade_task::{Job, drop_contained};

use super::opaque;

/// The reason why a job was not accepted.
///
/// Like every error of this crate, it converts to an [`io::Error`] with `?`. The kind is
/// [`ResourceBusy`](io::ErrorKind::ResourceBusy) for [`Full`](Self::Full),
/// [`Unsupported`](io::ErrorKind::Unsupported) for [`Forked`](Self::Forked) and [`NotAWorker`](Self::NotAWorker),
/// else [`Other`](io::ErrorKind::Other).
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The pool has been closed, shut down or dropped, or is being closed.
    Closed,
    /// The pool has no thread, and the operating system did not start one.
    NoThread,
    /// The pool is bounded, and the queue has reached the capacity.
    Full,
    /// The pool belongs to the parent of a fork: its threads do not exist in this process.
    Forked,
    /// The calling thread is not a worker of a pool, and the job was for its own queue.
    NotAWorker,
    /// The pool has no thread with the job's index.
    NoSuchWorker,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => {
                "the pool is closed: it was shut down or dropped (a `Handle` does not keep its pool alive)"
            }
            Self::NoThread => {
                "the pool has no thread and can't start one; try again later, keep a core size of 1, or make the pool `without_threads`"
            }
            Self::Full => {
                "the pool's queue is full; wait for room, run the job here, or raise the pool's capacity"
            }
            Self::Forked => {
                "the pool's threads are in the process that this one was forked from; make a new pool here"
            }
            Self::NotAWorker => {
                "the calling thread is not a worker of a pool; submit the job to a pool"
            }
            Self::NoSuchWorker => {
                "the pool has no thread with that index now; take one below its core size"
            }
        })
    }
}

/// Prints the message, because a `main` that returns the error prints the `Debug` form.
impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Reason {}

impl From<Reason> for io::Error {
    fn from(reason: Reason) -> Self {
        let kind = match reason {
            Reason::Full => io::ErrorKind::ResourceBusy,
            Reason::Forked | Reason::NotAWorker => io::ErrorKind::Unsupported,
            Reason::Closed | Reason::NoThread | Reason::NoSuchWorker => io::ErrorKind::Other,
        };
        Self::new(kind, reason)
    }
}

/// A rejected job; contains the closure or future.
///
/// It is an error, `Send` and `Sync` for every kind of job, so `?` works on it. The conversion to an [`io::Error`]
/// keeps the [reason](Self::reason) and drops the job.
///
/// ```
/// let handle = brigade::Pool::new(1).handle(); // The pool is dropped at the end of this line.
/// let rejected = handle.try_execute(|| println!("hello")).unwrap_err();
/// assert_eq!(rejected.reason(), brigade::Reason::Closed);
/// rejected.into_inner()(); // Run it here instead.
/// ```
pub struct Rejected<F> {
    job: Exclusive<F>,
    reason: Reason,
}

impl<F> Rejected<F> {
    pub(crate) fn new(job: F, reason: Reason) -> Self {
        Self { job: Exclusive::new(job), reason }
    }

    /// Converts the job, and keeps the reason.
    pub(crate) fn map<G>(self, change: impl FnOnce(F) -> G) -> Rejected<G> {
        Rejected::new(change(self.job.into_inner()), self.reason)
    }

    /// Returns the closure or future.
    pub fn into_inner(self) -> F {
        self.job.into_inner()
    }

    /// Returns the reason.
    pub fn reason(&self) -> Reason {
        self.reason
    }
}

opaque!(Rejected<F>: reason);

impl<F> fmt::Display for Rejected<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)
    }
}

impl<F> std::error::Error for Rejected<F> {}

impl<F> From<Rejected<F>> for io::Error {
    fn from(rejected: Rejected<F>) -> Self {
        rejected.reason.into()
    }
}

/// Panics with the reason if a job was not accepted; drops the job first.
#[inline(always)]
#[track_caller]
pub(crate) fn expect_accepted<R, W>(result: Result<R, Rejected<W>>) -> R {
    match result {
        Ok(receipt) => receipt,
        Err(rejected) => {
            let reason = rejected.reason();
            drop_contained(rejected);
            refuse(reason)
        }
    }
}

/// Panics with the reason.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn refuse(reason: Reason) -> ! {
    panic!("the job was not accepted: {reason}");
}

/// Returns the closure of a rejected job.
pub(crate) fn closure_of<F: 'static>(job: Job) -> F {
    match job.into_closure() {
        Ok(closure) => closure,
        Err(_) => unreachable!("a rejected job is what it was made of, and no thread has run it"),
    }
}
