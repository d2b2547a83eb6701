//! What a pool does at one moment.

use core::fmt;
use core::time::Duration;
use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

use brigade_machine::ThreadState;
use brigade_sync::{awaited::Awaited, time};
use brigade_task::Causes;

use crate::job::JobLabel;
use crate::record::Stretch;
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
    /// Whether the jobs that run are known; see `Builder::observe_jobs` of brigade.
    pub is_observed: bool,
    /// Whether the [waits](WorkerDump::waits) of the workers are known. They are not if another thread was changing the list of
    /// them, at the begin or the end of a wait, each time that the dump tried to read it.
    pub are_waits_known: bool,
    /// Threads, including those that are about to be started.
    pub threads: usize,
    /// The threads that sleep as there is nothing to do.
    pub parked: usize,
    /// The threads that look for a job.
    pub searching: usize,
    /// Jobs on the queue that all threads share.
    pub queued: usize,
    /// High jobs that are queued.
    pub queued_high: usize,
    /// Low jobs that are queued.
    pub queued_low: usize,
    /// Futures, also local futures, that wait to be woken, or are about to be polled again.
    pub pending_futures: usize,
    /// The jobs cancelled so far, by cause.
    pub cancelled: Causes,
    /// The workers by index. That of a thread that has ended is empty.
    pub workers: Vec<WorkerDump>,
    /// Jobs of the pool that other threads run: a worker of another pool in a join, or a submitter
    /// whose job runs in its caller.
    pub elsewhere: Vec<JobDump>,
    /// The queued jobs: of each class the 64 that have waited longest. Like the fields below, it is empty unless the pool's jobs are
    /// [observed](Self::is_observed).
    pub queued_jobs: Vec<WaitingJob>,
    /// The futures that wait to be woken, or to be polled again: the oldest 64.
    pub futures: Vec<WaitingJob>,
    /// The timers of closures, and the futures that wait for a timer.
    pub timers: usize,
    /// The next 64 of these timers, and when they are due; 0 if they are late.
    pub due: Vec<(Duration, JobLabel)>,
    /// How many closures have returned a future, by the place of their submission. Such a future runs only if the result of the job is
    /// awaited; `spawn` runs it on the pool. They are recognized by the name of the type, which a closure shares with an `async`
    /// block.
    pub returned_futures: Vec<(JobLabel, u64)>,
}

/// One worker in a [`Dump`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WorkerDump {
    /// Its index.
    pub index: usize,
    /// Its stack of jobs, if the pool's jobs are observed: a job, then the job that runs inside a wait of it, and so on. A job returns
    /// only after those that follow it, even if its own wait is over.
    pub jobs: Vec<JobDump>,
    /// What its innermost job waits for in a join, and the waits around that; empty if the waits are
    /// not [known](Dump::are_waits_known).
    pub waits: Vec<WaitDump>,
    /// Jobs on its own queue.
    pub queued: usize,
    /// Forks and jobs of scopes that others may take.
    pub forks: usize,
    /// Jobs that only this worker may run: local futures that have been woken, and shares of a broadcast.
    pub own: usize,
}

/// A job that runs, in a [`Dump`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobDump {
    /// Its name, if it has one.
    pub name: Option<Cow<'static, str>>,
    /// Where it was submitted: the line that called the pool.
    pub place: &'static Location<'static>,
    /// How long it has run; for a future, the poll that it is in.
    pub ran: Duration,
    /// The name of its thread, if that has one.
    pub thread: Option<String>,
    /// The state of its thread in the operating system; Linux only.
    pub state: Option<ThreadState>,
}

/// A job that waits, in a [`Dump`]: queued, or a future that has been polled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaitingJob {
    /// The job.
    pub job: JobLabel,
    /// How long ago it was accepted.
    pub age: Duration,
    /// For how long it has waited: for a future, since the end of its last poll.
    pub waited: Duration,
    /// What its last poll was waiting for when it ended, the first 8 things. It is empty for a queued job, and for a future that waits for
    /// something outside of brigade, such as a channel, or for futures which its last poll did not poll. The future may have been
    /// woken since.
    pub awaits: Vec<Awaits>,
}

/// What a future waits for, in a [`Dump`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaits {
    /// A timer that is due in this time; 0 if it is late.
    Timer(Duration),
    /// Data to read, or a connection to accept, from the file with this number.
    Readable(u64),
    /// Space to write to the file with this number, or its connection.
    Writable(u64),
    /// The end of a job; `None` if this job is not known: of another pool, or queued.
    Job(Option<JobLabel>),
    /// The end of any job of a set.
    Set,
    /// Room in a bounded pool.
    Room,
    /// Its turn: it has yielded, and is queued.
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
    /// The jobs among them that run on a worker of the same observed pool: the index of the worker, and the job.
    pub running: Vec<(usize, JobDump)>,
    /// The futures among them that wait to be woken, or to be polled again. The other jobs have not started, have just ended, or belong to
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

    pub(crate) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or("a job")
    }
}

impl WaitingJob {
    /// The job of an entry, with the jobs for which entries wait.
    pub(crate) fn new(entry: &Entry, now: Instant, awaited: &[Entry]) -> Self {
        let until = |at: Instant| at.saturating_duration_since(now);
        let known =
            |id| awaited.iter().find(|known| known.id.is_some_and(|known| id == known.into()));
        let awaits = entry.awaits().iter().map(|awaited| match *awaited {
            Awaited::Timer(at) => Awaits::Timer(until(at)),
            Awaited::Readable(file) => Awaits::Readable(file),
            Awaited::Writable(file) => Awaits::Writable(file),
            Awaited::Job(id) => Awaits::Job(known(id).map(|known| known.job.label.clone())),
            Awaited::Set => Awaits::Set,
            Awaited::Room => Awaits::Room,
            Awaited::Turn => Awaits::Turn,
        });
        let since = if let Stage::Pending(at, _) = entry.stage { at } else { entry.since };
        let ago = |at| now.saturating_duration_since(at);
        Self {
            job: entry.job.label.clone(),
            age: ago(entry.since),
            waited: ago(since),
            awaits: awaits.collect(),
        }
    }
}

impl Dump {
    /// The dump of a pool that no longer exists.
    #[doc(hidden)]
    pub fn of_none() -> Self {
        Self { is_closed: true, are_waits_known: true, ..Self::default() }
    }

    /// An empty dump of the pool with this name.
    #[doc(hidden)]
    pub fn named(pool: &Arc<str>) -> Self {
        Self { pool: Cow::Owned(pool.to_string()), ..Self::default() }
    }
}

impl Dump {
    /// Writes the jobs that wait, and the timers.
    fn write_waiting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for WaitingJob { job, age, .. } in &self.queued_jobs {
            writeln!(f, "  queued, {}: {job} for {age:.1?}", job.class)?;
        }
        for WaitingJob { job, age, waited, awaits } in &self.futures {
            write!(f, "  future: {job}, {age:.1?} old, polled {waited:.1?} ago, waits for ")?;
            let [first, others @ ..] = &awaits[..] else {
                writeln!(f, "something outside of brigade")?;
                continue;
            };
            write!(f, "{first}")?;
            others.iter().try_for_each(|other| write!(f, ", {other}"))?;
            writeln!(f)?;
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
        write!(f, "{} from {} for {:.1?}", self.title(), self.place, self.ran)?;
        match &self.state {
            Some(state) => write!(f, "; {state}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Awaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        pending.iter().try_for_each(|job| write!(f, "; {job} waits"))
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, threads, parked, searching, queued, pending_futures, .. } = self;
        if pool.is_empty() {
            return writeln!(f, "no pool: it no longer exists, or belongs to the parent of a fork");
        }
        let closed = if self.is_closed { ", closed" } else { "" };
        write!(
            f,
            "pool {pool}{closed}: {threads} threads, {parked} parked, {searching} searching; "
        )?;
        writeln!(f, "{queued} jobs on the shared queue, {pending_futures} pending futures")?;
        let Self { queued_high, queued_low, .. } = self;
        if queued_high + queued_low > 0 {
            writeln!(f, "  {queued_high} high jobs and {queued_low} low ones queued")?;
        }
        if self.cancelled.sum() > 0 {
            writeln!(f, "  cancelled: {}", self.cancelled)?;
        }
        if !self.is_observed {
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
            waits.iter().try_for_each(|wait| writeln!(f, "    {wait}"))?;
        }
        self.elsewhere.iter().try_for_each(|job| writeln!(f, "  elsewhere: {job}"))?;
        self.write_waiting(f)
    }
}
