//! Rejected jobs: what a pool returns when it does not accept a job.

use core::fmt;

use brigade_task::Job;

/// Why a job was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The pool has been closed, shut down or dropped, or is being so.
    Closed,
    /// The pool has no thread, and the system did not start one.
    NoThread,
    /// The pool is bounded, and as many jobs are queued as it allows.
    Full,
    /// The pool belongs to a process that this one was forked from: its threads exist there, not here.
    Forked,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => {
                "the pool has been closed; run the job here, or submit it before the pool is shut down or dropped"
            }
            Self::NoThread => {
                "the pool has no thread and can't start one; try again later, or keep a core size of 1"
            }
            Self::Full => {
                "the pool's queue is full; submit with `try_execute` to have the job back, wait with `execute_timeout`, \
                or give the pool another capacity or `when_full`"
            }
            Self::Forked => {
                "the pool's threads are in the process that this one was forked from; make a new pool here"
            }
        })
    }
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

    /// The same with another form of the job.
    pub(crate) fn map<G>(self, change: impl FnOnce(F) -> G) -> Rejected<G> {
        Rejected { job: change(self.job), reason: self.reason }
    }

    /// Returns the closure.
    pub fn into_inner(self) -> F {
        self.job
    }

    /// Returns the reason.
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
        fmt::Display::fmt(&self.reason, f)
    }
}

impl<F> std::error::Error for Rejected<F> {}

/// The closure that a rejected job was made from.
pub(crate) fn closure_of<F: 'static>(job: Job) -> F {
    match job.into_closure() {
        Ok(closure) => closure,
        Err(_) => unreachable!("a rejected job is what it was made of, and no thread has run it"),
    }
}
