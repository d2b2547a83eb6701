//! The observer of a pool, and its settings.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::{Arc, Weak};
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
    /// Runs the job, or polls its future; the closure returns whether the job has ended.
    fn run(&mut self, call: &mut dyn FnMut() -> bool);

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
    site: Box<dyn Site>,
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
    /// How many closures have returned a future, by the place of their submission, which are few.
    returned: Mutex<BTreeMap<&'static Location<'static>, (JobLabel, u64)>>,
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
        let (outside, detector) = (Record::default(), Detector::default());
        let on_outcome = settings.hooks.on_outcome.as_ref().map(Arc::downgrade);
        let hooks = Mutex::new(mem::take(&mut settings.hooks));
        let (unfinished, returned) = (Unfinished::default(), Mutex::default());
        Arc::new(Self {
            site,
            pool,
            begin,
            settings,
            hooks,
            on_outcome,
            outside,
            unfinished,
            returned,
            detector,
        })
    }

    /// The pool.
    pub(crate) fn site(&self) -> &dyn Site {
        &*self.site
    }

    /// Calls a closure with the record of this thread, and with the worker's index on a worker of the pool.
    pub(crate) fn on_record<R>(&self, call: impl FnOnce(Option<usize>, &Record) -> R) -> R {
        let (mut call, mut result) = (Some(call), None);
        self.site.on_thread(&self.outside, &mut |index, record| {
            result = call.take().map(|call| call(index, record));
        });
        let Some(result) = result else { unreachable!("it has been called") };
        result
    }

    /// The span of the calling thread, if jobs have spans.
    pub(crate) fn span(&self) -> Option<Box<dyn Span>> {
        self.settings.span.map(|span| span())
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
        self.returned.lock().entry(label.place).or_insert_with(|| (label.clone(), 0)).1 += 1;
    }

    /// Adds all jobs but those on the pool's workers, and the timers.
    pub fn dump(&self, dump: &mut Dump) {
        dump.is_observed = true;
        dump.elsewhere = self.outside.running().iter().map(JobDump::new).collect();
        let (now, unfinished) = (time::now(), &self.unfinished);
        for class in CLASSES {
            let is_queued = |entry: &Entry| {
                let is_queued =
                    matches!(entry.stage, Stage::Queued) && entry.job.label.class == class;
                is_queued.then_some(entry.since)
            };
            let (_, queued) = unfinished.first(&is_queued);
            let waiting = queued.iter().map(|entry| WaitingJob::new(entry, now, &[]));
            dump.queued_jobs.extend(waiting);
        }
        let is_pending =
            |entry: &Entry| matches!(entry.stage, Stage::Pending(..)).then_some(entry.since);
        let (_, pending) = unfinished.first(&is_pending);
        let awaited: Vec<_> = pending.iter().flat_map(Entry::awaited_jobs).collect();
        let awaited = unfinished.find(&awaited);
        let waiting = pending.iter().map(|entry| WaitingJob::new(entry, now, &awaited));
        dump.futures = waiting.collect();
        let (timers, due) = unfinished.first(&Entry::due);
        dump.timers = timers;
        let due = due.iter().filter_map(|entry| {
            let due = entry.due()?.saturating_duration_since(now);
            Some((due, entry.job.label.clone()))
        });
        dump.due = due.collect();
        dump.returned_futures = self.returned.lock().values().cloned().collect();
    }

    /// Returns the futures with these ids if they wait to be woken, or to be polled again.
    pub fn pending(&self, ids: &[JobId]) -> Vec<JobLabel> {
        let ids: Vec<_> = ids.iter().map(|&id| id.into()).collect();
        let mut found = self.unfinished.find(&ids);
        found.retain(|entry| matches!(entry.stage, Stage::Pending(..)));
        found.iter().map(|entry| entry.job.label.clone()).collect()
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
        let stalls = self.hooks.lock().on_stall.take();
        stalls.map_or(Ok(()), |stalls| (stalls.start)(self, stalls, inherited))
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
                stalls.extend(stalled.iter().map(|one| Stall::new(self.pool.clone(), index, one)));
            };
            if !self.site.each(&mut |index, record| look(Some(index), record)) {
                return;
            }
            look(None, &self.outside);
            for stall in stalls {
                let told = panic::catch_unwind(AssertUnwindSafe(|| hook(&stall)));
                told.unwrap_or_else(drop_contained);
            }
            at = next.unwrap_or(now + FOREVER);
        }
    }
}
