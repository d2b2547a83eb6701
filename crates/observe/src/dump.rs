//! What a pool does at one moment.

use core::fmt;
use core::time::Duration;
use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;

use brigade_machine::ThreadState;
use brigade_sync::time;
use brigade_task::Causes;

use crate::record::Stretch;

/// A snapshot of a pool; returned by `Handle::dump` of brigade.
///
/// [`Display`](fmt::Display) writes several lines of text, for a log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Dump {
    /// The name of the pool; empty if the pool no longer exists.
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
}

/// One worker in a [`Dump`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WorkerDump {
    /// Its index.
    pub index: usize,
    /// The jobs that it runs, if the pool's jobs are observed: a job, then the one that runs inside it, and so on. The last one is
    /// the innermost.
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

/// A wait of a job for other jobs, in a [`Dump`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WaitDump {
    /// Whether the wait ends with any of the jobs, and not with the last of them.
    pub is_for_any: bool,
    /// How many jobs it waits for. In a wait for more than 64 they are not listed, and this is 0.
    pub awaited: usize,
    /// The jobs among them that run on a worker of the same observed pool: the index of the worker, and the job. The others have not
    /// started, have just ended, are futures that wait to be woken, or belong to another pool.
    pub running: Vec<(usize, JobDump)>,
}

impl JobDump {
    /// The job of a stretch.
    #[doc(hidden)]
    pub fn new(stretch: &Stretch) -> Self {
        let Stretch { job, since, thread, .. } = stretch;
        Self {
            name: job.name.clone(),
            place: job.place,
            ran: time::since(*since),
            thread: thread.name.clone(),
            state: thread.state(),
        }
    }

    pub(crate) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or("a job")
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

impl fmt::Display for JobDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} for {:.1?}", self.title(), self.place, self.ran)?;
        match &self.state {
            Some(state) => write!(f, "; {state}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for WaitDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_for_any, awaited, running } = self;
        match (awaited, is_for_any) {
            (0, _) => f.write_str("waits for more than 64 jobs")?,
            (1, _) => f.write_str("waits for a job")?,
            (_, true) => write!(f, "waits for one of {awaited} jobs")?,
            (_, false) => write!(f, "waits for {awaited} jobs")?,
        }
        for (index, job) in running {
            write!(f, "; {} from {} runs on worker {index}", job.title(), job.place)?;
        }
        Ok(())
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, threads, parked, searching, queued, pending_futures, .. } = self;
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
            jobs.iter().try_for_each(|job| writeln!(f, "    runs {job}"))?;
            waits.iter().try_for_each(|wait| writeln!(f, "    {wait}"))?;
        }
        self.elsewhere.iter().try_for_each(|job| writeln!(f, "  elsewhere: {job}"))
    }
}
