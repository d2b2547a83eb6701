//! The state of a pool at a moment.
//!
//! Its texts are written to a `dyn Write`: `write!` to a formatter is several times the code.

use core::fmt::{self, Write};
use core::time::Duration;
use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::{awaited::Awaited, time};
use brigade_task::Causes;

use crate::job::JobLabel;
use crate::record::Stretch;
use crate::thread::ThreadState;
use crate::unfinished::{Entry, Stage};

/// A snapshot of a pool; returned by `Handle::dump` of brigade.
///
/// [`Display`](fmt::Display) writes several lines of text, for a log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Dump {
    /// The name of the pool; empty if the pool no longer exists, or belongs to the parent of a fork.
    pub pool: Cow<'static, str>,
    /// Whether the pool has been closed, or no longer exists.
    pub is_closed: bool,
    /// Whether all jobs of the closed pool have ended.
    pub has_ended: bool,
    /// The strictest way in which the pool was closed, as `Shutdown::Drain`; `None` if it is open or no longer exists.
    pub closed_by: Option<&'static str>,
    /// Whether the running jobs are known; see `Builder::observe_jobs` of brigade.
    pub is_observed: bool,
    /// Whether the [waits](WorkerDump::waits) of the workers are known. They are not if another thread was changing the list of
    /// them, at the begin or the end of a wait, at each attempt of the dump to read it.
    pub are_waits_known: bool,
    /// Threads, including threads about to be started.
    pub threads: usize,
    /// The sleeping threads, which have nothing to do.
    pub parked: usize,
    /// The threads that look for a job.
    pub searching: usize,
    /// Jobs on the shared queue.
    pub queued: usize,
    /// Queued high jobs.
    pub queued_high: usize,
    /// Queued low jobs.
    pub queued_low: usize,
    /// Jobs that wait for their turn in a `Limited` of brigade.
    pub queued_limited: u64,
    /// Futures, also local futures, waiting to be woken, or about to be polled again.
    pub pending_futures: usize,
    /// The jobs cancelled so far, by cause.
    pub cancelled: Causes,
    /// The workers by index. The entry of an ended thread is empty.
    pub workers: Vec<WorkerDump>,
    /// Jobs of the pool on other threads: a worker of another pool in a join, or a submitter
    /// whose job runs in its caller.
    pub elsewhere: Vec<JobDump>,
    /// The queued jobs: the 64 oldest of each class. Like the fields below, it is empty unless the pool's jobs are
    /// [observed](Self::is_observed).
    pub queued_jobs: Vec<WaitingJob>,
    /// The futures waiting to be woken, or to be polled again: the oldest 64.
    pub futures: Vec<WaitingJob>,
    /// The timers of closures, and the futures waiting for a timer.
    pub timers: usize,
    /// The next 64 of these timers, and when they are due; 0 if they are late.
    pub due: Vec<(Duration, JobLabel)>,
    /// How many closures have returned a future, by the place of their submission. Such a future runs only if the result of the job is
    /// awaited; `spawn` runs it on the pool. They are recognized by the name of the type, which a closure shares with an `async`
    /// block.
    pub returned_futures: Vec<(JobLabel, u64)>,
}

/// A worker in a [`Dump`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WorkerDump {
    /// The index of the worker.
    pub index: usize,
    /// The worker's stack of jobs, if the pool's jobs are observed: a job, then the job run inside a wait of it, and so on. A job
    /// returns only after its successors in the list, even if the wait is over.
    pub jobs: Vec<JobDump>,
    /// The wait of the innermost job in a join, and the waits around it; empty if the waits are
    /// not [known](Dump::are_waits_known).
    pub waits: Vec<WaitDump>,
    /// Jobs on the worker's own queue.
    pub queued: usize,
    /// Forks and jobs of scopes that other workers may take.
    pub forks: usize,
    /// Jobs that only this worker may run: woken local futures, and shares of a broadcast.
    pub own: usize,
}

/// A running job, in a [`Dump`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobDump {
    /// The name of the job, if any.
    pub name: Option<Cow<'static, str>>,
    /// Where the job was submitted: the line of the call.
    pub place: &'static Location<'static>,
    /// How long it has run; for a future, how long the current poll has run.
    pub ran: Duration,
    /// The name of the running thread, if any.
    pub thread: Option<String>,
    /// The state of the running thread in the operating system; Linux only.
    pub state: Option<ThreadState>,
}

/// A waiting job, in a [`Dump`]: queued, or a future between polls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaitingJob {
    /// The job.
    pub job: JobLabel,
    /// How long ago it was accepted.
    pub age: Duration,
    /// For how long it has waited: for a future, since the end of the last poll.
    pub waited: Duration,
    /// The events awaited at the end of the last poll, at most the first 8. Empty for a queued job, and for a future that waits for
    /// something outside of brigade, such as a channel, or for inner futures left out by the last poll. The future may have been
    /// woken since.
    pub awaits: Vec<Awaits>,
}

/// The event a future waits for, in a [`Dump`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaits {
    /// A timer due in this time; 0 if it is late.
    Timer(Duration),
    /// Data to read, or a connection to accept, from the file with this number.
    Readable(u64),
    /// Space to write to the file with this number, or a connection of it.
    Writable(u64),
    /// The end of a job; `None` if this job is not known: of another pool, or queued.
    Job(Option<JobLabel>),
    /// The end of any job of a set.
    Set,
    /// Room in a bounded pool.
    Room,
    /// A turn: it has yielded, and is queued.
    Turn,
}

/// A wait of a job for other jobs, in a [`Dump`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WaitDump {
    /// Whether the wait ends with any of the jobs, and not with the last of them.
    pub is_for_any: bool,
    /// How many jobs it waits for. In a wait for more than 64 they are not listed, and this is 0.
    pub awaited: usize,
    /// The running jobs among them, on workers of the same observed pool: the index of the worker, and the job.
    pub running: Vec<(usize, JobDump)>,
    /// The futures among them waiting to be woken, or to be polled again. The other jobs have not started, have just ended, or belong to
    /// another pool.
    pub pending: Vec<JobLabel>,
}

impl JobDump {
    /// The job of a stretch.
    #[doc(hidden)]
    pub fn new(stretch: &Stretch) -> Self {
        let Stretch { job, since, thread, .. } = stretch;
        Self {
            name: job.label.name.clone(),
            place: job.label.place,
            ran: time::since(*since),
            thread: thread.name.clone(),
            state: thread.state(),
        }
    }

    /// The jobs of some stretches.
    #[doc(hidden)]
    pub fn all(stretches: &[Stretch]) -> Vec<Self> {
        let mut all = Vec::new();
        for stretch in stretches {
            all.push(Self::new(stretch));
        }
        all
    }

    pub(crate) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or("a job")
    }
}

impl WaitingJob {
    /// The job of an entry, with the jobs for which entries wait.
    pub(crate) fn new(entry: &Entry, now: Instant, awaited: &[Entry]) -> Self {
        let mut awaits = Vec::new();
        for note in entry.awaits() {
            awaits.push(match *note {
                Awaited::Timer(at) => Awaits::Timer(at.saturating_duration_since(now)),
                Awaited::Readable(file) => Awaits::Readable(file),
                Awaited::Writable(file) => Awaits::Writable(file),
                Awaited::Job(id) => Awaits::Job(label_of(id, awaited)),
                Awaited::Set => Awaits::Set,
                Awaited::Room => Awaits::Room,
                Awaited::Turn => Awaits::Turn,
            });
        }
        let since = if let Stage::Pending(at, _) = entry.stage { at } else { entry.since };
        let age = now.saturating_duration_since(entry.since);
        let waited = now.saturating_duration_since(since);
        Self { job: entry.job.label.clone(), age, waited, awaits }
    }
}

/// The label of the entry with this id.
fn label_of(id: usize, entries: &[Entry]) -> Option<JobLabel> {
    let entry = entries.iter().find(|entry| entry.id.is_some_and(|own| id == own.into()))?;
    Some(entry.job.label.clone())
}

impl Dump {
    /// The dump of a dropped pool.
    #[doc(hidden)]
    pub fn of_none() -> Self {
        Self { is_closed: true, are_waits_known: true, ..Self::default() }
    }

    /// An empty dump of the pool with this name.
    #[doc(hidden)]
    pub fn named(pool: &Arc<str>) -> Self {
        Self { pool: Cow::Owned(pool.to_string()), ..Self::default() }
    }

    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        let Self { pool, threads, parked, searching, queued, pending_futures, .. } = self;
        if pool.is_empty() {
            return writeln!(f, "no pool: it no longer exists, or belongs to the parent of a fork");
        }
        let state = if self.has_ended { ", ended" } else { ", closed" };
        let state = if self.is_closed { state } else { "" };
        write!(f, "pool {pool}{state}")?;
        if let Some(how) = self.closed_by {
            write!(f, " by `{how}`")?;
        }
        write!(f, ": {threads} threads, {parked} parked, {searching} searching; ")?;
        writeln!(f, "{queued} jobs on the shared queue, {pending_futures} pending futures")?;
        let Self { queued_high, queued_low, .. } = self;
        if queued_high + queued_low > 0 {
            writeln!(f, "  {queued_high} high jobs and {queued_low} low ones queued")?;
        }
        if self.queued_limited > 0 {
            writeln!(f, "  {} jobs wait for their turn in a `Limited`", self.queued_limited)?;
        }
        if self.cancelled.sum() > 0 {
            writeln!(f, "  cancelled: {}", self.cancelled)?;
        }
        if !self.is_observed && !self.has_ended {
            writeln!(f, "  what runs is not known: see `Builder::observe_jobs`")?;
        }
        if !self.are_waits_known {
            writeln!(f, "  what waits for what is not known: the list of waits was being changed")?;
        }
        for WorkerDump { index, jobs, waits, queued, forks, own } in &self.workers {
            writeln!(f, "  worker {index}: {queued} jobs queued, {forks} forks, {own} for itself")?;
            for (depth, job) in jobs.iter().enumerate() {
                writeln!(f, "    {:indent$}runs {job}", "", indent = 2 * depth)?;
            }
            for wait in waits {
                writeln!(f, "    {wait}")?;
            }
        }
        for job in &self.elsewhere {
            writeln!(f, "  elsewhere: {job}")?;
        }
        self.write_waiting(f)
    }

    /// Writes the waiting jobs, and the timers.
    fn write_waiting(&self, f: &mut dyn Write) -> fmt::Result {
        for WaitingJob { job, age, .. } in &self.queued_jobs {
            writeln!(f, "  queued, {}: {job} for {age:.1?}", job.class)?;
        }
        for WaitingJob { job, age, waited, awaits } in &self.futures {
            write!(f, "  future: {job}, {age:.1?} old, polled {waited:.1?} ago, waits for ")?;
            if awaits.is_empty() {
                f.write_str("something outside of brigade")?;
            }
            for (index, event) in awaits.iter().enumerate() {
                write!(f, "{}{event}", if index == 0 { "" } else { ", " })?;
            }
            f.write_char('\n')?;
        }
        if self.timers > 0 {
            writeln!(f, "  timers: {}; the next:", self.timers)?;
        }
        for (due, job) in &self.due {
            writeln!(f, "    {job}, due in {due:.1?}")?;
        }
        for (job, count) in &self.returned_futures {
            writeln!(f, "  returned a future, which runs only if awaited, {count} times: {job}")?;
        }
        Ok(())
    }
}

impl fmt::Display for JobDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f: &mut dyn Write = f;
        write!(f, "{} from {} for {:.1?}", self.title(), self.place, self.ran)?;
        match &self.state {
            Some(state) => write!(f, "; {state}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Awaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f: &mut dyn Write = f;
        match self {
            Self::Timer(due) => write!(f, "a timer, due in {due:.1?}"),
            Self::Readable(file) => write!(f, "data to read from file {file}"),
            Self::Writable(file) => write!(f, "space to write to file {file}"),
            Self::Job(Some(job)) => write!(f, "the end of {job}"),
            Self::Job(None) => f.write_str("a job that is queued or of another pool"),
            Self::Set => f.write_str("a job of a set"),
            Self::Room => f.write_str("room in a pool"),
            Self::Turn => f.write_str("its turn"),
        }
    }
}

impl fmt::Display for WaitDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f: &mut dyn Write = f;
        let Self { is_for_any, awaited, running, pending } = self;
        match (awaited, is_for_any) {
            (0, _) => f.write_str("waits for more than 64 jobs")?,
            (1, _) => f.write_str("waits for a job")?,
            (_, true) => write!(f, "waits for one of {awaited} jobs")?,
            (_, false) => write!(f, "waits for {awaited} jobs")?,
        }
        for (index, job) in running {
            write!(f, "; {} from {} runs on worker {index}", job.title(), job.place)?;
        }
        for job in pending {
            write!(f, "; {job} waits")?;
        }
        Ok(())
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}
