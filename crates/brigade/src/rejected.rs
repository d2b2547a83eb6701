//! What comes back when a pool does not accept a job.

use core::fmt;

/// Why a job was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The pool has been shut down or dropped, or is being so.
    Closed,
    /// The pool has no thread, and the system would not start one.
    NoThread,
    /// The pool is bounded, and so many jobs are queued already.
    Full,
}

/// A job that was not accepted, with the closure inside.
///
/// ```
/// let handle = brigade::Pool::new(1).handle(); // The pool is gone at the end of this line.
/// let rejected = handle.execute(|| println!("hello")).unwrap_err();
/// assert_eq!(rejected.reason(), brigade::Reason::Closed);
/// rejected.into_inner()(); // Here, then.
/// ```
pub struct Rejected<F> {
    job: F,
    reason: Reason,
}

impl<F> Rejected<F> {
    pub(crate) fn new(job: F, reason: Reason) -> Self {
        Self { job, reason }
    }

    /// Gives the closure back.
    pub fn into_inner(self) -> F {
        self.job
    }

    /// Why it was not accepted.
    pub fn reason(&self) -> Reason {
        self.reason
    }
}

impl<F> fmt::Debug for Rejected<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<F> fmt::Display for Rejected<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Closed => f.write_str(
                "the pool has been shut down; run the job here, or submit it before the pool is dropped",
            ),
            Reason::NoThread => f.write_str(
                "the pool has no thread and can't start one; try again later, or keep a core size of 1",
            ),
            Reason::Full => f.write_str(
                "the pool's queue is full; try again later, wait with `execute_timeout`, \
                or give the pool another capacity or `when_full`",
            ),
        }
    }
}

impl<F> std::error::Error for Rejected<F> {}
