//! What an observed job is known by.

use std::borrow::Cow;
use std::panic::Location;

/// What an observed job is known by since its submission.
pub struct Job {
    /// Its name, if it has one.
    pub name: Option<Cow<'static, str>>,
    /// Where it was submitted.
    pub place: &'static Location<'static>,
    /// The span in which it was submitted, if the pool's jobs have spans.
    pub(crate) span: Option<Box<dyn Span>>,
}

/// A span in which jobs are submitted, or that of a job.
pub(crate) trait Span: Send + Sync {
    /// Calls what makes parts: they are in this span, on whatever thread they run.
    fn lend(&self, call: &mut dyn FnMut());

    /// The same, in this span.
    fn enter(&self, call: &mut dyn FnMut());

    /// Opens the span of a job of that pool, which starts on this worker.
    fn open(&self, pool: &str, job: &Job, worker: Option<usize>) -> Box<dyn Span>;
}
