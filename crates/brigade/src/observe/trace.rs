//! Spans of `tracing` for jobs.

use brigade_task::{Attachment, attach};
use tracing::Span;
use tracing::dispatcher::with_default;
use tracing::field::Empty;

use super::{JobInfo, Observe};

/// The span in which a job was submitted, if the pool's jobs have spans.
#[derive(Clone)]
pub(crate) struct Submitter(Option<Held>);

/// The span of a job, once it has started.
pub(crate) struct JobSpan(Option<Held>);

/// A span, which is used and dropped with its subscriber as that of the thread. A registry of spans looks there for a span and its
/// parents, and the submitter's subscriber may not be the worker's.
#[derive(Clone)]
struct Held(Span);

impl Held {
    /// Calls a closure with the subscriber of the span.
    fn with_subscriber<R>(&self, call: impl FnOnce() -> R) -> R {
        match self.0.with_subscriber(|(_, subscriber)| subscriber.clone()) {
            Some(subscriber) => with_default(&subscriber, call),
            None => call(),
        }
    }
}

impl Attachment for Held {
    fn enter(&self, call: &mut dyn FnMut()) {
        self.with_subscriber(|| self.0.in_scope(call));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let span = core::mem::replace(&mut self.0, Span::none());
        let subscriber = span.with_subscriber(|(_, subscriber)| subscriber.clone());
        if let Some(subscriber) = subscriber {
            with_default(&subscriber, || drop(span));
        }
    }
}

impl Submitter {
    /// That of the calling thread.
    pub(crate) fn current(observe: &Observe) -> Self {
        Self(observe.traces.then(|| Held(Span::current())))
    }

    /// Calls what makes parts: they are in this span, on whatever thread they run.
    pub(crate) fn lend<R>(&self, call: impl FnOnce() -> R) -> R {
        match &self.0 {
            None => call(),
            Some(span) => attach(span, call),
        }
    }

    /// Opens the span of a job, which starts on this worker.
    pub(crate) fn open(&self, job: &JobInfo, worker: Option<usize>) -> JobSpan {
        let Some(parent) = &self.0 else { return JobSpan(None) };
        let open = || {
            let (name, pool, place) = (job.name.as_deref(), &*job.observer.pool, job.place);
            tracing::info_span!(
                target: "brigade", parent: &parent.0, "job", name, pool, %place, worker = Empty
            )
        };
        let span = parent.with_subscriber(open);
        if let Some(index) = worker {
            span.record("worker", index);
        }
        // One that the subscriber does not want must not hide the submitter's.
        JobSpan(Some(if span.is_disabled() { parent.clone() } else { Held(span) }))
    }
}

impl JobSpan {
    /// That of a job that has not started.
    pub(crate) const NONE: Self = Self(None);

    /// Calls a closure in it.
    pub(crate) fn in_scope<R>(&self, call: impl FnOnce() -> R) -> R {
        match &self.0 {
            None => call(),
            Some(span) => span.with_subscriber(|| span.0.in_scope(|| attach(span, call))),
        }
    }

    /// Closes it.
    pub(crate) fn close(&mut self) {
        self.0 = None;
    }
}
