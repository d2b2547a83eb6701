//! Spans of `tracing` for jobs.

use brigade_task::{Attachment, attach};
use tracing::dispatcher::with_default;
use tracing::field::Empty;

use crate::job::{Job, Span};
use crate::observer::Settings;

impl Settings {
    /// Opens a span for each job, as a child of the submitting thread's span.
    pub fn spans(&mut self) {
        self.span = Some(|| Box::new(Held(tracing::Span::current())));
    }
}

/// A span, used and dropped with its subscriber as the thread's. A registry of spans looks there for a span and the
/// parents, and the submitter's subscriber may not be the worker's.
#[derive(Clone)]
struct Held(tracing::Span);

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

impl Span for Held {
    fn lend(&self, call: &mut dyn FnMut()) {
        attach(self, call);
    }

    fn enter(&self, call: &mut dyn FnMut()) {
        self.with_subscriber(|| self.0.in_scope(|| attach(self, call)));
    }

    fn open(&self, pool: &str, job: &Job, worker: Option<usize>) -> Box<dyn Span> {
        let open = || {
            let (name, place) = (job.label.name.as_deref(), job.label.place);
            tracing::info_span!(
                target: "brigade", parent: &self.0, "job", name, pool, %place, worker = Empty
            )
        };
        let span = self.with_subscriber(open);
        if let Some(index) = worker {
            span.record("worker", index);
        }
        // A span unwanted by the subscriber must not hide the submitter's.
        Box::new(if span.is_disabled() { self.clone() } else { Held(span) })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let span = core::mem::replace(&mut self.0, tracing::Span::none());
        let subscriber = span.with_subscriber(|(_, subscriber)| subscriber.clone());
        if let Some(subscriber) = subscriber {
            with_default(&subscriber, || drop(span));
        }
    }
}
