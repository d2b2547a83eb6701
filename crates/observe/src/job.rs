//! The name, the place, the class and the span of an observed job.

use core::fmt;
use std::borrow::Cow;
use std::panic::Location;

/// The names of the classes, in the order in which workers take their jobs.
pub(crate) const CLASSES: [&str; 3] = ["high", "normal", "low"];

/// What an observed job is known by, and its span.
pub struct Job {
    /// Its name, place and class.
    pub label: JobLabel,
    /// The span in which it was submitted, if the pool's jobs have spans.
    pub(crate) span: Option<Box<dyn Span>>,
}

/// The name, place and class of a job, in a [`Dump`](crate::Dump).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLabel {
    /// Its name, if it has one.
    pub name: Option<Cow<'static, str>>,
    /// Where it was submitted: the line that called the pool.
    pub place: &'static Location<'static>,
    /// Its class: `high`, `normal` or `low`.
    pub class: &'static str,
}

impl fmt::Display for JobLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.name.as_deref().unwrap_or("a job"), self.place)
    }
}

/// The span of a job, or of its submitter.
pub(crate) trait Span: Send + Sync {
    /// Calls a closure that makes parts: they are in this span, on whatever thread they run.
    fn lend(&self, call: &mut dyn FnMut());

    /// Calls a closure in this span; its parts are in it too.
    fn enter(&self, call: &mut dyn FnMut());

    /// Opens the span of a job of that pool, which starts on this worker.
    fn open(&self, pool: &str, job: &Job, worker: Option<usize>) -> Box<dyn Span>;
}
