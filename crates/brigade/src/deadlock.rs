//! Detection of waits that would never end because they wait for each other.
//!
//! A job waits if a thread that runs it is blocked until other jobs have ended. A thread may run several jobs, one inside the
//! other, and then all of these wait. A wait may also be inside another, in a local future that the waiting thread polls. A job
//! that waits can't end before its waits do, so a cycle of such waits never ends. Each wait is listed here before its thread
//! blocks, in one step with its search for a cycle. So the wait that would close a cycle sees the rest of it, whatever pools
//! the threads belong to.
//!
//! Waits with a timeout are not listed, as they end. Nor are waits for anything but the handle of a job.
//!
//! **Name rule.** A job that waits is running, and one that is waited for has its handle until the entry is gone. So no name in
//! this list stands for two jobs.
//!
//! `idle/joins.rs` detects that no thread is left to run an awaited job.

use brigade_sync::Mutex;
use brigade_sync::fork::PerProcess;
use brigade_task::{JobId, for_each_running};

use crate::sorted_map::SortedMap;

/// For each job that waits in this process, what it waits for: of its waits, one inside the other, each must end.
static WAITS: PerProcess<Mutex<Waits>> = PerProcess::new();

type Waits = SortedMap<JobId, Vec<Awaited>>;

/// What ends a wait.
#[derive(Clone)]
pub(crate) enum Awaited {
    /// The end of this job.
    One(JobId),
    /// The end of each of these jobs.
    All(Vec<JobId>),
    /// The end of one of them.
    Any(Vec<JobId>),
}

/// The most jobs that a wait is listed with. All jobs of a new wait are searched for a cycle, but a longer list would be
/// searched again, under a lock, at each wait of another job.
const MOST: usize = 64;

/// The jobs of this thread while it is blocked.
pub(crate) struct Waiting {
    jobs: Vec<JobId>,
}

impl Awaited {
    fn jobs(&self) -> &[JobId] {
        match self {
            Self::One(job) => core::slice::from_ref(job),
            Self::All(jobs) | Self::Any(jobs) => jobs,
        }
    }
}

impl Waiting {
    /// Lists that the jobs of this thread wait for `awaited`; `None` if that never ends, as it waits for one of them.
    ///
    /// The handles of the awaited jobs must outlive the value (Name rule).
    pub(crate) fn begin(awaited: Awaited) -> Option<Self> {
        let mut jobs = Vec::new();
        for_each_running(|job| jobs.push(job));
        if jobs.is_empty() {
            // No job can wait for us.
            return Some(Self { jobs: Vec::new() });
        }
        let mut waits = WAITS.get().lock();
        // For each job whether it never ends, given that the jobs of this thread do not.
        let mut never = SortedMap::default();
        for &job in &jobs {
            *never.get_or_default(job) = true;
        }
        if never_ends(&awaited, &waits, &mut never) {
            return None;
        }
        if awaited.jobs().len() > MOST {
            return Some(Self { jobs: Vec::new() });
        }
        for &job in &jobs {
            waits.get_or_default(job).push(awaited.clone());
        }
        Some(Self { jobs })
    }
}

/// Whether a wait never ends; `never` has the result for the jobs that have been searched.
fn never_ends(awaited: &Awaited, waits: &Waits, never: &mut SortedMap<JobId, bool>) -> bool {
    let mut is_stuck = |&job: &JobId| {
        if let Some(&known) = never.get(job) {
            return known;
        }
        let Some(all) = waits.get(job) else { return false };
        // A cycle without this thread would have been found by the wait that closed it.
        *never.get_or_default(job) = false;
        let is_stuck = all.iter().any(|wait| never_ends(wait, waits, never));
        *never.get_or_default(job) = is_stuck;
        is_stuck
    };
    match awaited {
        Awaited::One(job) => is_stuck(job),
        Awaited::All(jobs) => jobs.iter().any(is_stuck),
        Awaited::Any(jobs) => !jobs.is_empty() && jobs.iter().all(&mut is_stuck),
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.jobs.is_empty() {
            let mut waits = WAITS.get().lock();
            for &job in &self.jobs {
                // The innermost: waits of one thread end in the opposite order.
                waits.remove_if(job, |all| all.pop().is_some() && all.is_empty());
            }
        }
    }
}
