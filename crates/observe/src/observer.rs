//! The observer of a pool, and its settings.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};
use std::{io, mem};

use brigade_sync::Mutex;
use brigade_sync::thread::{Inherited, NewThread};
use brigade_sync::time;
use brigade_task::{JobId, drop_contained};

use crate::dump::{Dump, JobDump, WaitingJob};
use crate::job::{CLASSES, Job, JobLabel, Span};
use crate::outcome::Outcome;
use crate::record::Record;
use crate::stall::{Detector, Stall};
#[cfg(feature = "histograms")]
use crate::times::Histograms;
use crate::unfinished::{Entry, Stage, Unfinished};

/// The stack of the stall detector's thread, in bytes: the hook may format and log.
const STACK_SIZE: usize = 256 << 10;

/// The time between two looks if a limit is too far in the future to be represented.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The settings for observing a pool's jobs.
#[derive(Default)]
pub struct Settings {
    /// Whether the times of jobs are recorded.
    #[cfg(feature = "histograms")]
    pub(crate) times: bool,
    /// Returns the current span, if each job has a span.
    pub(crate) span: Option<fn() -> Box<dyn Span>>,
    hooks: Hooks,
}

#[derive(Default)]
struct Hooks {
    on_outcome: Option<Arc<OutcomeHook>>,
    /// Until the detector's thread has it.
    on_stall: Option<Stalls>,
}

/// Begins to watch a job; the last argument says whether it has a handle.
pub(crate) type Begin = fn(Arc<Observer>, Arc<Job>, bool) -> Box<dyn Watching>;

/// A hook for outcomes of jobs.
type OutcomeHook = dyn Fn(&Outcome<'_>) + Send + Sync;

/// A hook for long-running jobs.
type StallHook = Arc<dyn Fn(&Stall) + Send + Sync>;

/// The search for long-running jobs.
struct Stalls {
    after: Duration,
    hook: StallHook,
    /// Starts the thread; a function pointer for the same reason as `begin`.
    start: fn(&Arc<Observer>, Self, Arc<Inherited>) -> io::Result<()>,
}

/// The watch over a job, kept inside the job: dropped with an unrun job, it reports a cancellation.
pub(crate) trait Watching: Send {
    /// Runs the job, or polls its future, which has a waker. The closure takes a waker to be used instead, if any, and returns whether
    /// the job has ended.
    fn run(&mut self, waker: Option<&Waker>, call: &mut dyn FnMut(Option<&Waker>) -> bool);

    /// The job was not accepted: it has no end.
    fn withdraw(&mut self);

    /// The job has returned a future.
    fn returned_future(&self);
}

impl Settings {
    /// Tells a hook how each job ended.
    pub fn on_outcome(&mut self, hook: impl Fn(&Outcome<'_>) + Send + Sync + 'static) {
        self.hooks.on_outcome = Some(Arc::new(hook));
    }

    /// Tells a hook of each job once it has run for `after`.
    pub fn on_stall(&mut self, after: Duration, hook: impl Fn(&Stall) + Send + Sync + 'static) {
        self.hooks.on_stall = Some(Stalls { after, hook: Arc::new(hook), start: Observer::start });
    }

    /// Records how long jobs wait and run.
    #[cfg(feature = "histograms")]
    pub fn histograms(&mut self) {
        self.times = true;
    }
}

/// An observed pool.
pub trait Site: Send + Sync {
    /// Returns whether the pool is of this process. In a forked child, locks may be held forever.
    fn is_here(&self) -> bool;

    /// Calls a closure with the index and the record of the calling thread, or with the other record if it is no worker of the pool.
    fn on_thread(&self, other: &Record, call: &mut dyn FnMut(Option<usize>, &Record));

    /// Calls a closure with the index and the record of each worker. Returns `false` if the pool and its threads have
    /// ended.
    fn each(&self, call: &mut dyn FnMut(usize, &Record)) -> bool;

    /// The calling thread runs this job.
    fn runs(&self, job: &Job);

    /// A hook has panicked on the calling thread, which is contained.
    fn hook_panicked(&self);
}

/// The shared state of the jobs of an observed pool.
pub struct Observer {
    pub(crate) site: Box<dyn Site>,
    /// The name of the pool.
    pub(crate) pool: Arc<str>,
    /// Begins to watch a job. A function pointer, so only a program with an observed pool contains the code of a watch.
    pub(crate) begin: Begin,
    /// Without the hooks.
    pub(crate) settings: Settings,
    /// Until the pool has ended.
    hooks: Mutex<Hooks>,
    on_outcome: Option<Weak<OutcomeHook>>,
    /// The record of foreign threads: they run jobs that they join, or for which there is no room.
    outside: Record,
    /// The unfinished jobs.
    pub(crate) unfinished: Unfinished,
    /// How many closures have returned a future, in the order of the places of their submission, which are few.
    returned: Mutex<Vec<(JobLabel, u64)>>,
    /// The thread that looks for stalls, if any.
    detector: Detector,
}

impl Observer {
    pub(crate) fn new(
        mut settings: Settings,
        pool: Arc<str>,
        site: Box<dyn Site>,
        begin: Begin,
    ) -> Arc<Self> {
        let hooks = mem::take(&mut settings.hooks);
        Arc::new(Self {
            site,
            pool,
            begin,
            settings,
            on_outcome: hooks.on_outcome.as_ref().map(Arc::downgrade),
            hooks: Mutex::new(hooks),
            outside: Record::default(),
            unfinished: Unfinished::default(),
            returned: Mutex::default(),
            detector: Detector::default(),
        })
    }

    /// Calls a closure with the record of this thread, and with the worker's index on a worker of the pool.
    pub(crate) fn on_record(&self, call: &mut dyn FnMut(Option<usize>, &Record)) {
        self.site.on_thread(&self.outside, call);
    }

    /// The index of this thread, which may be a worker of the pool.
    pub(crate) fn worker(&self) -> Option<usize> {
        let mut worker = None;
        self.on_record(&mut |index, _| worker = index);
        worker
    }

    /// Tells the hook how a job ended.
    pub(crate) fn tell(&self, outcome: &Outcome<'_>) {
        let Some(hook) = self.on_outcome.as_ref().and_then(Weak::upgrade) else { return };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(move || hook(outcome))) {
            drop_contained(payload);
            self.site.hook_panicked();
        }
    }

    /// A closure has returned a future.
    pub(crate) fn returned_future(&self, job: &Job) {
        let label = &job.label;
        let mut returned = self.returned.lock();
        match returned.binary_search_by_key(&label.place, |(label, _)| label.place) {
            Ok(index) => returned[index].1 += 1,
            Err(index) => returned.insert(index, (label.clone(), 1)),
        }
    }

    /// Adds all jobs but those on the pool's workers, and the timers.
    pub fn dump(&self, dump: &mut Dump) {
        dump.is_observed = true;
        dump.elsewhere = JobDump::all(&self.outside.running());
        let (now, unfinished) = (time::now(), &self.unfinished);
        for class in CLASSES {
            let queued = |entry: &Entry| {
                let is_of_class = entry.job.label.class == class;
                (matches!(entry.stage, Stage::Queued) && is_of_class).then_some(entry.since)
            };
            for entry in &unfinished.first(&queued).1 {
                dump.queued_jobs.push(WaitingJob::new(entry, now, &[]));
            }
        }
        let pending = |entry: &Entry| entry.is_pending().then_some(entry.since);
        let (_, pending) = unfinished.first(&pending);
        let is_awaited = |job: &Entry| pending.iter().any(|entry| entry.awaits_job(job));
        let awaited = unfinished.find(&is_awaited);
        for entry in &pending {
            dump.futures.push(WaitingJob::new(entry, now, &awaited));
        }
        let (timers, timed) = unfinished.first(&Entry::due);
        dump.timers = timers;
        for entry in &timed {
            let Some(due) = entry.due() else { continue };
            dump.due.push((due.saturating_duration_since(now), entry.job.label.clone()));
        }
        dump.returned_futures = self.returned.lock().clone();
    }

    /// Returns the futures with these ids if they wait to be woken, or to be polled again.
    pub fn pending(&self, ids: &[JobId]) -> Vec<JobLabel> {
        let is_named = |entry: &Entry| entry.id.is_some_and(|id| ids.contains(&id));
        let mut labels = Vec::new();
        for entry in &self.unfinished.find(&|entry| entry.is_pending() && is_named(entry)) {
            labels.push(entry.job.label.clone());
        }
        labels
    }

    /// Returns how long the ended jobs of the pool waited and ran, if recorded.
    #[cfg(feature = "histograms")]
    pub fn histograms(&self) -> Option<Histograms> {
        let mut all = self.settings.times.then(Histograms::new)?;
        self.site.each(&mut |_, record| record.add_times_to(&mut all));
        self.outside.add_times_to(&mut all);
        Some(all)
    }

    /// Starts the stall detector's thread, if there is a hook for stalls.
    ///
    /// # Errors
    /// The operating system's error if it can't be started.
    pub fn start_detector(self: &Arc<Self>, inherited: Arc<Inherited>) -> io::Result<()> {
        let Some(stalls) = self.hooks.lock().on_stall.take() else { return Ok(()) };
        (stalls.start)(self, stalls, inherited)
    }

    fn start(self: &Arc<Self>, stalls: Stalls, inherited: Arc<Inherited>) -> io::Result<()> {
        let (observer, Stalls { after, hook, .. }) = (self.clone(), stalls);
        let main = move || {
            observer.detect(after, &hook);
            drop_contained(hook);
        };
        let new = NewThread::new(format!("{}-stalls", self.pool), Some(STACK_SIZE), main);
        self.detector.set_thread(new.inheriting(inherited).start()?);
        Ok(())
    }

    /// Ends the detector's thread, and waits for the end until the deadline at most; returns whether it has ended. The pool has ended, so
    /// the hooks are dropped.
    pub fn end(&self, deadline: Option<Instant>) -> bool {
        let hooks = mem::take(&mut *self.hooks.lock());
        drop_contained(hooks);
        self.detector.end(deadline)
    }

    /// The main function of the detector's thread.
    fn detect(&self, after: Duration, hook: &StallHook) {
        let mut at = time::now();
        while !self.detector.ends_by(at) {
            let now = time::now();
            let (mut next, mut stalls) = (now.checked_add(after), Vec::new());
            let mut look = |index, record: &Record| {
                let (stalled, first) = record.stalled(now, after);
                next = next.min(first).or(next).or(first);
                for stretch in &stalled {
                    stalls.push(Stall::new(self.pool.clone(), index, stretch));
                }
            };
            if !self.site.each(&mut |index, record| look(Some(index), record)) {
                return;
            }
            look(None, &self.outside);
            for stall in &stalls {
                if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| hook(stall))) {
                    drop_contained(payload);
                }
            }
            at = next.unwrap_or(now + FOREVER);
        }
    }
}
