//! Spans of `tracing` for jobs, and the spans and events that tokio-console reads.

use core::task::Waker;
use std::sync::Arc;
use std::task::Wake;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicU64;
use brigade_task::{Attachment, attach};
use tracing::dispatcher::{Dispatch, with_default};
use tracing::field::Empty;

use crate::job::{Job, Span};
use crate::observer::Settings;

impl Settings {
    /// Opens a span for each job, as a child of the submitting thread's span.
    pub fn spans(&mut self) {
        self.span = Some(|| Box::new(Held(submitter())));
    }
}

/// The span of the calling thread. A task of tokio-console, of brigade or tokio, is no submitter's span: it would be open as long as the job, and
/// entered with the job.
fn submitter() -> tracing::Span {
    let span = tracing::Span::current();
    match span.metadata() {
        Some(metadata) if metadata.name() == "runtime.spawn" => tracing::Span::none(),
        _ => span,
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

    /// Opens the spans of a job, the second for its task in tokio-console.
    fn open_both(&self, pool: &str, job: &Job, is_future: bool) -> (tracing::Span, tracing::Span) {
        static TASKS: AtomicU64 = AtomicU64::new(1);
        let (name, place) = (job.label.name.as_deref(), job.label.place);
        let span = tracing::info_span!(
            target: "brigade", parent: &self.0, "job", name, pool, %place, worker = Empty
        );
        // A parent would be open until the task ends.
        let task = tracing::trace_span!(
            target: "brigade", parent: None, "runtime.spawn",
            kind = if is_future { "task" } else { "blocking" },
            task.name = name,
            // Ordering: Relaxed, as numbers must only differ.
            task.id = TASKS.fetch_add(1, Ordering::Relaxed),
            pool,
            loc.file = place.file(),
            loc.line = place.line(),
            loc.col = place.column(),
        );
        (span, task)
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

    fn open(&self, pool: &str, job: &Job, is_future: bool, worker: Option<usize>) -> Box<dyn Span> {
        let (span, task) = self.with_subscriber(|| self.open_both(pool, job, is_future));
        if let Some(index) = worker {
            span.record("worker", index);
        }
        // A span unwanted by the subscriber must not hide the submitter's.
        let job = if span.is_disabled() { self.clone() } else { Held(span) };
        if task.is_disabled() { Box::new(job) } else { Box::new(Task { job, task: Held(task) }) }
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

/// The span of a job, inside that of its task in tokio-console.
struct Task {
    job: Held,
    task: Held,
}

impl Span for Task {
    fn lend(&self, call: &mut dyn FnMut()) {
        self.job.lend(call);
    }

    // Parts on other threads are not in the task: each entry counts as a poll.
    fn enter(&self, call: &mut dyn FnMut()) {
        Attachment::enter(&self.task, &mut || Span::enter(&self.job, call));
    }

    fn open(&self, pool: &str, job: &Job, is_future: bool, worker: Option<usize>) -> Box<dyn Span> {
        self.job.open(pool, job, is_future, worker)
    }

    fn waker(&self, waker: &Waker) -> Option<Waker> {
        let reporting = self.task.0.with_subscriber(|(task, subscriber)| Reporting {
            waker: waker.clone(),
            task: task.into_u64(),
            subscriber: subscriber.clone(),
        })?;
        reporting.report("waker.clone");
        Some(Waker::from(Arc::new(reporting)))
    }
}

/// The waker of one poll. A subscriber counts it and all of its clones as one waker, so it knows whether a waker is left.
struct Reporting {
    waker: Waker,
    /// The id of the task's span. The span itself would be open as long as the waker.
    task: u64,
    subscriber: Dispatch,
}

impl Reporting {
    fn report(&self, op: &str) {
        let report = || tracing::trace!(target: "runtime::waker", op, task.id = self.task);
        with_default(&self.subscriber, report);
    }
}

impl Wake for Reporting {
    // A subscriber would take `waker.wake` for a drop too.
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.report("waker.wake_by_ref");
        self.waker.wake_by_ref();
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        self.report("waker.drop");
    }
}
