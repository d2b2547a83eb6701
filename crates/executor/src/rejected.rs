//! The error of an unaccepted job or future.

use std::error::Error;
use std::fmt;

/// A job or a future not accepted by an executor, which is full, closed, or wrong for the calling thread.
///
/// # Examples
/// ```
/// use brigade_executor::{Executor, ExecutorExt, Job};
///
/// /// Accepts nothing.
/// struct Closed;
///
/// impl Executor for Closed {
///     fn accept(&self, job: Job) -> Result<(), Job> {
///         Err(job)
///     }
/// }
///
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let rejected = Closed.try_execute(move || _ = sender.send(42)).unwrap_err();
/// assert_eq!(rejected.to_string(), "the executor has not accepted the job");
/// rejected.into_inner()();
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
#[must_use = "it has the job"]
pub struct Rejected<J>(J);

impl<J> Rejected<J> {
    /// Wraps the job or future.
    pub fn new(job: J) -> Self {
        Self(job)
    }

    /// Returns the job or future.
    pub fn into_inner(self) -> J {
        self.0
    }
}

impl<J> fmt::Debug for Rejected<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rejected(..)")
    }
}

impl<J> fmt::Display for Rejected<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the executor has not accepted the job")
    }
}

impl<J> Error for Rejected<J> {}
