//! Measures the jobs of observed pools, and tells how they end. `observe/README.md` has the design.

use core::any::Any;
use core::time::Duration;
use std::borrow::Cow;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::time;
use brigade_task::for_each_running;

use crate::engine::{CURRENT, Core, Worker, label_job};
use crate::key::Key;
use crate::observe::{
    End, JobInfo, JobSpan, Observer, Outcome, Record, Stretch, Submitter, Watching,
};
use crate::registry::{At, reach};
use brigade_machine::ThreadInfo;

/// What a job that is about to be submitted to an observed pool is known by.
#[derive(Clone)]
pub(crate) struct Watcher(Arc<JobInfo>);

/// The watch over one job, which is in the job.
pub(crate) struct Watch(Box<dyn Watching>);

impl Watcher {
    /// The watcher of a job that is about to be submitted to that pool; `None` if the pool is not observed, or no longer exists.
    #[inline]
    pub(crate) fn of_pool(
        key: Key,
        place: &'static Location<'static>,
        name: impl FnOnce() -> Option<Cow<'static, str>>,
    ) -> Option<Self> {
        if key.is_observed() { Self::find(key, place, name()) } else { None }
    }

    /// The same, where the pool is known.
    #[inline]
    pub(crate) fn at(
        at: At<'_>,
        place: &'static Location<'static>,
        name: impl FnOnce() -> Option<Cow<'static, str>>,
    ) -> Option<Self> {
        if at.is_observed() { Self::new(at, place, name()) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn find(
        key: Key,
        place: &'static Location<'static>,
        name: Option<Cow<'static, str>>,
    ) -> Option<Self> {
        reach(key, |at| Self::new(at, place, name))
    }

    #[cold]
    #[inline(never)]
    fn new(
        at: At<'_>,
        place: &'static Location<'static>,
        name: Option<Cow<'static, str>>,
    ) -> Option<Self> {
        let observer = at.core()?.config.observer.clone()?;
        let submitter = Submitter::current(&observer.observe);
        Some(Self(Arc::new(JobInfo { observer, name, place, submitter })))
    }

    /// Begins the watch over a job that has been accepted, or is about to be.
    #[inline(never)]
    pub(crate) fn begin(self, has_handle: bool) -> Watch {
        let Some(begin) = self.0.observer.observe.begin_watch else {
            unreachable!("an observed pool has it")
        };
        Watch(begin(self.0, has_handle))
    }
}

impl Watch {
    /// Runs the job.
    ///
    /// # Panics
    /// If the job does.
    pub(crate) fn run<R>(mut self, call: impl FnOnce() -> R) -> R {
        self.run_for_now(call, |_| true)
    }

    /// Runs the job, or polls its future; `is_over` says whether it has ended.
    ///
    /// # Panics
    /// If the job does.
    pub(crate) fn run_for_now<R>(
        &mut self,
        call: impl FnOnce() -> R,
        is_over: impl FnOnce(&R) -> bool,
    ) -> R {
        let (mut call, mut result) = (Some((call, is_over)), None);
        self.run_dyn(&mut || match call.take() {
            Some((call, is_over)) => is_over(result.insert(call())),
            None => unreachable!("it is called once"),
        });
        let Some(result) = result else { unreachable!("it has returned") };
        result
    }

    /// The same for a closure that says whether the job has ended: one copy of the code for all jobs.
    #[inline(never)]
    fn run_dyn(&mut self, call: &mut dyn FnMut() -> bool) {
        let mut is_over = true;
        self.0.enter();
        let watching = &*self.0;
        let run = || watching.in_span(&mut || is_over = call());
        match panic::catch_unwind(AssertUnwindSafe(run)) {
            Ok(()) => self.0.leave(None, is_over),
            Err(payload) => {
                self.0.leave(Some(&*payload), true);
                panic::resume_unwind(payload);
            }
        }
    }

    /// The job was not accepted: it has no end.
    pub(crate) fn withdraw(mut self) {
        self.0.withdraw();
    }
}

/// A call of a thread outside of the pool that waits for what it borrows to: known as a job of the pool is while it runs, but told
/// to no hook for outcomes.
pub(crate) struct OutsideCall(Option<Arc<JobInfo>>);

impl OutsideCall {
    /// A call to this pool, on the thread that makes it.
    pub(crate) fn of(core: &Core, place: &'static Location<'static>) -> Self {
        Self(core.config.observer.clone().map(|observer| {
            let submitter = Submitter::current(&observer.observe);
            Arc::new(JobInfo { observer, name: None, place, submitter })
        }))
    }

    /// Calls what makes parts: they are in the span of the thread that calls, if the pool's jobs have spans.
    pub(crate) fn lend<R>(&self, call: impl FnOnce() -> R) -> R {
        match &self.0 {
            None => call(),
            Some(job) => job.submitter.lend(call),
        }
    }

    /// Runs it on this thread.
    pub(crate) fn run<R>(&self, call: impl FnOnce() -> R) -> R {
        struct End<'a>(&'a Arc<JobInfo>);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                let Self(job) = self;
                // In a forked child, locks may be held forever.
                if job.observer.key.is_here() {
                    on_record(&job.observer, |_, record| record.end(job, None));
                }
            }
        }
        let Some(job) = &self.0 else { return call() };
        let (since, thread) = (time::now(), ThreadInfo::current());
        let stretch = Stretch { job: job.clone(), id: None, since, thread, is_reported: false };
        on_record(&job.observer, |_, record| record.begin(stretch, None));
        let _end = End(job);
        call()
    }
}

/// Calls a closure with the record of this thread, and with its index if it is a worker of the pool.
fn on_record<R>(observer: &Observer, call: impl FnOnce(Option<usize>, &Record) -> R) -> R {
    CURRENT.with(|worker| match worker {
        Some(worker) if worker.is_of(observer.key) => call(Some(worker.index()), worker.record()),
        _ => call(None, &observer.outside),
    })
}

/// What a watch measures.
struct Measured {
    job: Arc<JobInfo>,
    /// Whether the job has a handle, and so a name in the graph of waits.
    has_handle: bool,
    accepted: Instant,
    started: Option<Instant>,
    /// When the current stretch began.
    since: Instant,
    /// How long it has run so far.
    ran: Duration,
    is_over: bool,
    span: JobSpan,
}

/// Begins to watch a job, as the builder of an observed pool needs it.
pub(crate) fn begin_watch(job: Arc<JobInfo>, has_handle: bool) -> Box<dyn Watching> {
    let accepted = time::now();
    Box::new(Measured {
        job,
        has_handle,
        accepted,
        started: None,
        since: accepted,
        ran: Duration::ZERO,
        is_over: false,
        span: JobSpan::NONE,
    })
}

impl Watching for Measured {
    fn enter(&mut self) {
        let since = time::now();
        self.since = since;
        let mut waited = None;
        if self.started.is_none() {
            self.started = Some(since);
            let time = since.saturating_duration_since(self.accepted);
            let JobInfo { observer, submitter, .. } = &*self.job;
            waited = observer.observe.times.then_some(time);
            self.span = submitter.open(&self.job, self.on_record(|index, _| index));
        }
        let mut id = None;
        if self.has_handle {
            for_each_running(|running| _ = id.get_or_insert(running));
        }
        let (job, thread) = (self.job.clone(), ThreadInfo::current());
        let stretch = Stretch { job, id, since, thread, is_reported: false };
        self.on_record(|_, record| record.begin(stretch, waited));
        label_job(self.job.name.as_ref(), Some(self.job.place));
    }

    fn in_span(&self, call: &mut dyn FnMut()) {
        self.span.in_scope(call);
    }

    fn leave(&mut self, panic: Option<&(dyn Any + Send)>, is_over: bool) {
        let observer = &self.job.observer;
        // In a forked child, locks may be held forever. The worker aborts it.
        if !observer.key.is_here() {
            return;
        }
        self.ran += time::since(self.since);
        let ran = (is_over && observer.observe.times).then_some(self.ran);
        self.on_record(|_, record| record.end(&self.job, ran));
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

    fn withdraw(&mut self) {
        self.is_over = true;
    }
}

impl Measured {
    fn end(&mut self, end: End, panic_message: Option<&str>) {
        self.is_over = true;
        self.span.close();
        let JobInfo { observer, name, place, .. } = &*self.job;
        let waited = match self.started {
            Some(started) => started.saturating_duration_since(self.accepted),
            None => time::since(self.accepted),
        };
        let outcome = Outcome {
            pool: &observer.pool,
            name: name.as_deref(),
            place,
            end,
            panic_message,
            waited,
            ran: self.ran,
            worker: self.on_record(|index, _| index),
        };
        if observer.tell(&outcome).is_err() {
            CURRENT.with(|worker| worker.into_iter().for_each(Worker::count_panic));
        }
    }

    fn on_record<R>(&self, call: impl FnOnce(Option<usize>, &Record) -> R) -> R {
        on_record(&self.job.observer, call)
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        if !self.is_over && self.job.observer.key.is_here() {
            self.end(End::Cancelled, None);
        }
    }
}
