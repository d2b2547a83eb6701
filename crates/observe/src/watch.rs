//! Measures the jobs of observed pools, and tells how they end.

use core::any::{Any, type_name};
use core::task::Waker;
use core::time::Duration;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::awaited::{Awaited, collect};
use brigade_sync::{Defer, time};
use brigade_task::{drop_cause, for_each_running};

use crate::job::{Job, JobLabel, Span};
use crate::observer::{Observer, Settings, Site, Watching};
use crate::outcome::{End, Outcome};
use crate::unfinished::{Place, Stage};

impl Settings {
    /// Returns the observer of a pool with this name.
    pub fn observer(self, pool: Arc<str>, site: impl Site + 'static) -> Arc<Observer> {
        Observer::new(self, pool, Box::new(site), |observer, job, has_handle| {
            let accepted = time::now();
            let place = observer.unfinished.add(&job, accepted, Stage::Queued);
            Box::new(Measured {
                observer,
                job,
                place,
                has_handle,
                accepted,
                started: None,
                since: accepted,
                ran: Duration::ZERO,
                is_over: false,
                span: None,
            })
        })
    }
}

/// The identity of a job about to be submitted; without one the pool is not observed, and nothing is told.
#[derive(Clone, Default)]
pub struct Watcher(Option<Watched>);

#[derive(Clone)]
struct Watched {
    observer: Arc<Observer>,
    job: Arc<Job>,
}

/// The watch over a job of an observed pool, kept inside the job: dropped with an unrun job, it reports a cancellation.
#[derive(Default)]
pub struct Watch(Option<Box<dyn Watching>>);

impl Watcher {
    /// The watcher of a job submitted by the calling thread.
    pub fn new(observer: &Arc<Observer>, label: JobLabel) -> Self {
        let job = Arc::new(Job { label, span: observer.settings.span.map(|span| span()) });
        Self(Some(Watched { observer: observer.clone(), job }))
    }

    /// Whether it begins watches: the pool is observed.
    pub fn watches(&self) -> bool {
        self.0.is_some()
    }

    /// Begins the watch over a job, accepted or about to be.
    pub fn begin(self, has_handle: bool) -> Watch {
        let Some(Watched { observer, job }) = self.0 else { return Watch(None) };
        Watch(Some((observer.begin)(observer, job, has_handle)))
    }

    /// Lists a timer, at which such a job is due.
    pub fn list_timer(&self, at: Instant) -> Option<ListedTimer> {
        let Watched { observer, job } = self.0.as_ref()?;
        let place = observer.unfinished.add(job, time::now(), Stage::Timed(at));
        Some(ListedTimer { observer: observer.clone(), place })
    }

    /// Calls a closure that makes parts: they are in the span of the calling thread, if the pool's jobs have spans.
    pub fn lend<R>(&self, call: impl FnOnce() -> R) -> R {
        let span = self.0.as_ref().and_then(|Watched { job, .. }| job.span.as_deref());
        let Some(span) = span else { return call() };
        let (mut call, mut result) = (Some(call), None);
        span.lend(&mut || result = call.take().map(|call| call()));
        let Some(result) = result else { unreachable!("it has been called") };
        result
    }

    /// Runs the call of a foreign thread that lends to jobs and waits for them: listed as a job of the pool while it runs, but told to
    /// no hook for outcomes.
    pub fn run_call<R>(&self, call: impl FnOnce() -> R) -> R {
        let Some(Watched { observer, job }) = &self.0 else { return call() };
        let since = time::now();
        observer.on_record(&mut |_, record| record.begin(job, None, since));
        let _end = Defer(|| {
            if observer.site.is_here() {
                observer.on_record(&mut |_, record| record.end(job));
            }
        });
        call()
    }
}

/// A timer in the list of the pool, until this is dropped.
pub struct ListedTimer {
    observer: Arc<Observer>,
    place: Place,
}

impl Drop for ListedTimer {
    fn drop(&mut self) {
        if self.observer.site.is_here() {
            self.observer.unfinished.remove(self.place);
        }
    }
}

/// Whether a value of the type with this name is a future, as far as the name tells: an `async` block has the name of a closure.
fn is_future(name: &str) -> bool {
    name.ends_with("{{closure}}")
        || name.starts_with("core::pin::Pin<alloc::boxed::Box<dyn core::future::future::Future")
}

impl Watch {
    /// Runs the job, which is a closure.
    ///
    /// # Panics
    /// If the job does.
    pub fn run<R>(mut self, call: impl FnOnce() -> R) -> R {
        let result = self.run_for_now(None, |_| call(), |_| true);
        self.returned(type_name::<R>());
        result
    }

    /// The closure has returned a value of the type with this name.
    fn returned(&self, name: &str) {
        let Some(watching) = &self.0 else { return };
        if is_future(name) {
            watching.returned_future();
        }
    }

    /// Runs the job, or polls the future, which has a waker; `is_over` says whether it has ended. The closure takes a waker to be used
    /// instead, if any.
    ///
    /// # Panics
    /// If the job does.
    pub fn run_for_now<R>(
        &mut self,
        waker: Option<&Waker>,
        call: impl FnOnce(Option<&Waker>) -> R,
        is_over: impl Fn(&R) -> bool,
    ) -> R {
        let Some(watching) = &mut self.0 else { return call(None) };
        let (mut call, mut result) = (Some(call), None);
        watching.run(waker, &mut |waker| {
            call.take().is_none_or(|call| is_over(result.insert(call(waker))))
        });
        let Some(result) = result else { unreachable!("it has returned") };
        result
    }

    /// The job was not accepted: it has no end.
    pub fn withdraw(mut self) {
        let Some(watching) = &mut self.0 else { return };
        watching.withdraw();
    }
}

/// The measurements of a watch.
struct Measured {
    observer: Arc<Observer>,
    job: Arc<Job>,
    /// The place in the list of unfinished jobs.
    place: Place,
    /// Whether the job has a handle, and so a name in a list of waits.
    has_handle: bool,
    accepted: Instant,
    started: Option<Instant>,
    /// When the current stretch began.
    since: Instant,
    /// How long it has run so far.
    ran: Duration,
    is_over: bool,
    /// The span of the job, if open.
    span: Option<Box<dyn Span>>,
}

impl Watching for Measured {
    fn run(&mut self, waker: Option<&Waker>, call: &mut dyn FnMut(Option<&Waker>) -> bool) {
        let mut is_over = true;
        self.enter(waker.is_some());
        let span = self.span.as_deref();
        let run = || match span {
            None => is_over = call(None),
            Some(span) => span.enter(&mut || {
                let waker = waker.and_then(|waker| span.waker(waker));
                is_over = call(waker.as_ref());
            }),
        };
        match panic::catch_unwind(AssertUnwindSafe(|| collect(run).1)) {
            Ok(awaited) => self.leave(None, is_over, awaited),
            Err(payload) => {
                self.leave(Some(&*payload), true, Vec::new());
                panic::resume_unwind(payload);
            }
        }
    }

    fn withdraw(&mut self) {
        self.is_over = true;
    }

    fn returned_future(&self) {
        if self.observer.site.is_here() {
            self.observer.returned_future(&self.job);
        }
    }
}

impl Measured {
    /// Records the start of the job, or of a poll of the future.
    fn enter(&mut self, is_future: bool) {
        let Self { observer, job, .. } = self;
        self.since = time::now();
        if self.started.is_none() {
            self.started = Some(self.since);
            if let Some(parent) = &job.span {
                let worker = observer.worker();
                self.span = Some(parent.open(&observer.pool, job, is_future, worker));
            }
        }
        let mut id = None;
        if self.has_handle {
            for_each_running(|running| id = id.or(Some(running)));
        }
        observer.unfinished.change(self.place, Stage::Running, id);
        observer.on_record(&mut |_, record| record.begin(job, id, self.since));
        observer.site.runs(job);
    }

    /// The closure, or the poll, has returned, or has panicked with this payload; whether it is the end of the job.
    fn leave(&mut self, panic: Option<&(dyn Any + Send)>, is_over: bool, awaited: Vec<Awaited>) {
        // The worker aborts a forked child.
        if !self.observer.site.is_here() {
            return;
        }
        let now = time::now();
        self.ran += now.saturating_duration_since(self.since);
        if !is_over {
            self.observer.unfinished.change(self.place, Stage::Pending(now, awaited), None);
        }
        self.observer.on_record(&mut |_, record| record.end(&self.job));
        match panic {
            Some(payload) => {
                let fixed = payload.downcast_ref::<&'static str>().copied();
                let text = fixed.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
                self.end(End::Panicked, text);
            }
            None if is_over => self.end(End::Returned, None),
            None => {}
        }
    }

    fn end(&mut self, end: End, panic_message: Option<&str>) {
        self.is_over = true;
        self.span = None;
        let Self { observer, job, ran, .. } = &*self;
        let waited = match self.started {
            Some(started) => started.saturating_duration_since(self.accepted),
            None => time::since(self.accepted),
        };
        #[cfg(feature = "histograms")]
        if observer.settings.times && !matches!(end, End::Cancelled(_)) {
            observer.on_record(&mut |_, record| record.add_times(waited, *ran));
        }
        observer.tell(&Outcome {
            pool: &observer.pool,
            name: job.label.name.as_deref(),
            place: job.label.place,
            end,
            panic_message,
            waited,
            ran: *ran,
            worker: observer.worker(),
        });
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        if !self.observer.site.is_here() {
            return;
        }
        self.observer.unfinished.remove(self.place);
        if !self.is_over {
            self.end(End::Cancelled(drop_cause()), None);
        }
    }
}
