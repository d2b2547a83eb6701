//! Detection of waits that would never end because they wait for each other.
//!
//! A job waits while a thread that runs the job, or a part of its fork or scope, is blocked until other jobs have
//! ended. A thread may run several nested jobs, and then all of them wait. A wait may also be nested in a wait, in a
//! local future polled by the waiting thread. A waiting job can't end before its waits do, so a cycle of such waits
//! never ends. Each wait is listed here before the thread blocks, in one step with the search for a cycle. So the
//! wait that would close a cycle sees the rest of the cycle, even across pools.
//!
//! Waits with a timeout, and waits that other events may end, are no part of a cycle, because they may end. They are
//! listed without the waiting jobs, as are waits for very many jobs: a draining pool [keeps](is_awaited) the futures for
//! which its jobs wait. Only waits for the handles of jobs are listed.
//!
//! A job bound to a worker (a share of a broadcast, a local future) needs no special case: the worker runs it inside
//! each of its waits.
//!
//! **Name rule.** A waiting job is running, and the handle of an awaited job outlives the entry. So no `JobId` in
//! this list stands for two jobs. The future of a `block_on` may drop a handle after its poll; then no waker is left, and
//! the wait never ends, whichever job the `JobId` stands for.

use brigade_sync::Mutex;
use brigade_sync::fork::PerProcess;
use brigade_task::{JobId, RunningFuture, for_each_running};

use crate::engine::{Key, pool_of_work, with_worker};

#[cfg(feature = "observe")]
pub(super) mod listed;

/// The waits of this process.
static WAITS: PerProcess<Mutex<WaitList>> = PerProcess::new();

/// The waits of all threads. A job can't end before all its waits have ended.
#[derive(Default)]
struct WaitList {
    /// In the order of their beginning.
    listed: Vec<Wait>,
    /// The number of waits listed so far, which is the number of the next wait.
    count: u64,
}

/// A listed wait.
struct Wait {
    number: u64,
    /// The jobs that the waiting thread runs, or runs parts of; none if other events may end the wait.
    jobs: Vec<JobId>,
    /// Where the jobs run.
    place: Option<Place>,
    awaited: AwaitedJobs,
}

/// The pool and the index of a worker, or the pool of work that runs off the pool.
type Place = (Key, Option<usize>);

/// The condition that ends a wait.
#[derive(Clone)]
pub(crate) enum AwaitedJobs {
    /// The end of this job.
    One(JobId),
    /// The end of each of these jobs.
    All(Vec<JobId>),
    /// The end of any of these jobs.
    Any(Vec<JobId>),
    /// The end of jobs of a set, which are too many to be listed.
    Many,
}

/// The maximum number of jobs in a listed wait. A new wait of any length is checked for a cycle. Listing a longer
/// wait would repeat the search through it, under the lock, at each wait of another job.
const MOST: usize = 64;

/// The number of a thread's listed wait; `None` if no job can wait for the thread.
pub(crate) struct Waiting(Option<u64>);

impl AwaitedJobs {
    fn jobs(&self) -> &[JobId] {
        match self {
            Self::One(job) => core::slice::from_ref(job),
            Self::All(jobs) | Self::Any(jobs) => jobs,
            Self::Many => &[],
        }
    }

    /// Whether a wait never ends, given jobs that never end.
    fn never_ends(&self, never: &[JobId]) -> bool {
        let (jobs, is_any) = (self.jobs(), matches!(self, Self::Any(_)));
        for job in jobs {
            if never.contains(job) != is_any {
                // One of all never ends, or one of any may end.
                return !is_any;
            }
        }
        is_any && !jobs.is_empty()
    }
}

impl WaitList {
    /// Lists a wait, if it is a short one as part of a cycle.
    fn list(
        &mut self,
        mut jobs: Vec<JobId>,
        place: Option<Place>,
        mut awaited: AwaitedJobs,
    ) -> Waiting {
        if awaited.jobs().len() > MOST {
            jobs.clear();
            awaited = AwaitedJobs::Many;
        }
        let number = self.count;
        self.count += 1;
        self.listed.push(Wait { number, jobs, place, awaited });
        Waiting(Some(number))
    }

    /// Returns `never`, jobs that never end, and all jobs that therefore never end either.
    fn with_stuck(&self, mut never: Vec<JobId>) -> Vec<JobId> {
        let mut next = 0;
        while let Some(&job) = never.get(next) {
            next += 1;
            for Wait { jobs, awaited, .. } in &self.listed {
                if awaited.jobs().contains(&job) && awaited.never_ends(&never) {
                    for &waiting in jobs {
                        if !never.contains(&waiting) {
                            never.push(waiting);
                        }
                    }
                }
            }
        }
        never
    }
}

impl Waiting {
    /// Lists the jobs of this thread as waiting for `awaited`. Returns `None` if the wait would never end, because it
    /// waits for one of these jobs.
    ///
    /// The handles of the awaited jobs must outlive the value (Name rule).
    pub(crate) fn begin(awaited: AwaitedJobs) -> Option<Self> {
        let mut jobs = Vec::new();
        for_each_running(|job| jobs.push(job));
        let place = place_here();
        if jobs.is_empty() && place.is_none() {
            return Some(Self(None));
        }
        let mut waits = WAITS.get().lock();
        if awaited.never_ends(&waits.with_stuck(jobs.clone())) {
            return None;
        }
        Some(waits.list(jobs, place, awaited))
    }

    /// Lists a wait of this thread that other events than the ends of these jobs may end.
    pub(crate) fn beside(awaited: impl FnOnce() -> AwaitedJobs) -> Self {
        match place_here() {
            Some(place) => WAITS.get().lock().list(Vec::new(), Some(place), awaited()),
            None => Self(None),
        }
    }
}

/// Where the calling thread runs work.
fn place_here() -> Option<Place> {
    with_worker(|own| match own {
        Some(own) => Some((own.shared.key, Some(own.index))),
        None => pool_of_work().map(|pool| (pool, None)),
    })
}

/// Whether a job on a worker of the pool, or work off the pool, waits for this future.
#[cold]
pub(crate) fn is_awaited(pool: Key, future: RunningFuture) -> bool {
    let waits = WAITS.get().lock();
    for Wait { place, awaited, .. } in &waits.listed {
        let is_of_pool = matches!(place, Some((key, _)) if *key == pool);
        let may_be_it = future.is_member && matches!(awaited, AwaitedJobs::Many);
        if is_of_pool && (may_be_it || awaited.jobs().contains(&future.id)) {
            return true;
        }
    }
    false
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            WAITS.get().lock().listed.retain(|wait| wait.number != number);
        }
    }
}
