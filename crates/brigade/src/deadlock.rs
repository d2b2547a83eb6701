//! Joins that would wait for themselves.
//!
//! A job waits if a thread that runs it is blocked in a join; one thread may run several, one inside the other, and then
//! all of these wait. A job that waits can't end before the one it waits for, so a circle of them never ends. Each
//! join says here what waits for what, before it blocks and in one step with its look for a circle: so the one that would
//! close it sees the rest, whatever pools their threads are of.
//!
//! Joins with a timeout are not in here, as they end. Nor is what a job waits for without a handle.
//!
//! **Name rule.** A job that waits is running, and one that is waited for has its handle until the entry is gone; so no
//! name in here is that of two jobs.
//!
//! Whether any thread is left to run what is waited for is another question: `idle/joins.rs` has that one.

use std::collections::BTreeMap;

use brigade_sync::Mutex;
use brigade_sync::fork::PerProcess;
use brigade_task::{JobId, for_each_running};

/// For each job that waits in this process, the one that it waits for.
static WAITS: PerProcess<Mutex<BTreeMap<JobId, JobId>>> = PerProcess::new();

/// The jobs of this thread while it is blocked in a join.
pub(crate) struct Waiting {
    jobs: Vec<JobId>,
}

impl Waiting {
    /// Says that the jobs of this thread wait for that one; `None` if it waits for one of them.
    ///
    /// That job's handle must outlive the value (Name rule).
    pub(crate) fn begin(awaited: JobId) -> Option<Self> {
        let mut jobs = Vec::new();
        for_each_running(|job| jobs.push(job));
        if jobs.is_empty() {
            // Nobody can wait for us.
            return Some(Self { jobs });
        }
        let mut waits = WAITS.get().lock();
        let mut chain = core::iter::successors(Some(awaited), |job| waits.get(job).copied());
        if chain.any(|job| jobs.contains(&job)) {
            return None;
        }
        waits.extend(jobs.iter().map(|job| (*job, awaited)));
        Some(Self { jobs })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.jobs.is_empty() {
            let mut waits = WAITS.get().lock();
            self.jobs.iter().for_each(|job| _ = waits.remove(job));
        }
    }
}
