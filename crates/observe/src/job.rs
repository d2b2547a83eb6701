//! The name, the place and the span of an observed job.

use std::borrow::Cow;
use std::panic::Location;

/// The name, the place and the span of an observed job.
pub struct Job {
    /// Its name, if it has one.
    pub name: Option<Cow<'static, str>>,
    /// Where it was submitted.
    pub place: &'static Location<'static>,
    /// The span in which it was submitted, if the pool's jobs have spans.
    pub(crate) span: Option<Box<dyn Span>>,
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
