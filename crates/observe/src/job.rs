//! The name, the place, the class and the span of an observed job.

use core::fmt;
use core::task::Waker;
use std::borrow::Cow;
use std::panic::Location;

/// The names of the classes, in the order in which workers take their jobs.
pub(crate) const CLASSES: [&str; 3] = ["high", "normal", "low"];

/// The identity of an observed job, and its span.
pub struct Job {
    /// The name, place and class.
    pub label: JobLabel,
    /// The span in which it was submitted, if the pool's jobs have spans.
    pub(crate) span: Option<Box<dyn Span>>,
}

/// The name, place and class of a job, in a [`Dump`](crate::Dump).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLabel {
    /// The name of the job, if any.
    pub name: Option<Cow<'static, str>>,
    /// Where the job was submitted: the line of the call.
    pub place: &'static Location<'static>,
    /// The class: `high`, `normal` or `low`.
    pub class: &'static str,
}

impl fmt::Display for JobLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.name.as_deref().unwrap_or("a job"), self.place)
    }
}

/// The span of a job, or of the submitter.
pub(crate) trait Span: Send + Sync {
    /// Calls a closure that makes parts: they are in this span, on any thread.
    fn lend(&self, call: &mut dyn FnMut());

    /// Calls a closure in this span; parts made by it are in the span too.
    fn enter(&self, call: &mut dyn FnMut());

    /// Opens the span of a job of this pool, starting on this worker.
    fn open(&self, pool: &str, job: &Job, is_future: bool, worker: Option<usize>) -> Box<dyn Span>;

    /// Returns a waker to be used instead of the future's, if the subscriber counts wakers.
    fn waker(&self, waker: &Waker) -> Option<Waker> {
        let _ = waker;
        None
    }
}
