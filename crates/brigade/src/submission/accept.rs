//! Accepting a job, by the calling worker or by the pool from outside.

use std::sync::Arc;
use std::time::Instant;

use brigade_task::Job;

use super::Receipt;
use crate::engine::{
    Admission, At, CURRENT, Core, Key, Unqueued, blocking, enter, reach, reach_owned,
};
use crate::values::{Priority, Rejected, WhenFull, closure_of};

impl At<'_> {
    /// Accepts a closure, in a pool without a capacity. A worker must [run a normal job](Worker::is_open_to).
    ///
    /// # Errors
    /// Returns the closure if the pool does not accept it.
    #[inline(always)]
    pub(crate) fn execute<F>(self, closure: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        match self {
            At::Worker(worker) => worker.execute(closure).map_err(|closure| self.rejected(closure)),
            At::Outside(core) => {
                core.inject(Job::new(closure)).map_err(|job| self.rejected(closure_of(job)))
            }
            At::Gone(_) => Err(self.rejected(closure)),
        }
    }

    /// Accepts a job, with the class of the submitting job if `class` is `None`.
    ///
    /// # Errors
    /// Returns the job if the pool does not accept it.
    pub(crate) fn accept(self, class: Option<Priority>, job: Job) -> Result<(), Job> {
        match (self, class) {
            (At::Worker(worker), _) => worker.submit_as(class, job),
            (At::Outside(core), None | Some(Priority::Normal)) => core.inject(job),
            (At::Outside(core), Some(class)) => core.inject_as(class, job),
            (At::Gone(_), _) => Err(job),
        }
    }

    /// Accepts a job, as [`accept`](Self::accept) does.
    ///
    /// # Errors
    /// Returns the job with the reason if the pool does not accept it.
    pub(crate) fn accept_or_reject(
        self,
        class: Option<Priority>,
        job: Job,
    ) -> Result<(), Rejected<Job>> {
        self.accept(class, job).map_err(|job| self.rejected(job))
    }

    /// Accepts a job of a class to which the pool agreed before it was closed.
    ///
    /// # Errors
    /// Returns the job if the pool no longer runs any.
    pub(crate) fn accept_late(self, class: Priority, job: Job) -> Result<(), Job> {
        let job = match self.accept(Some(class), job) {
            Err(job) => job,
            accepted => return accepted,
        };
        match self {
            At::Outside(core) => core.accept_late(class, job),
            At::Worker(_) | At::Gone(_) => Err(job),
        }
    }

    /// Decides what happens to a submission, and waits for a permit if necessary. On a worker of another pool, that
    /// pool may run an extra thread in the meantime.
    pub(crate) fn admit(
        self,
        core: &Core,
        when_full: WhenFull,
        until: Option<Instant>,
    ) -> Admission<'_> {
        let admission = core.admit(when_full, until, self.worker().is_some());
        admission.unwrap_or_else(|wait| blocking(|| core.wait_for_permit(wait)))
    }

    /// Runs or drops a job that is not queued.
    pub(crate) fn settle(self, core: &Core, how: Unqueued<'_>, job: Job) {
        match how {
            // Jobs spawned by this job belong to its pool.
            Unqueued::Run(_work) => enter(core.key, self.core(), || core.run_here(job)),
            Unqueued::Drop(_work) => core.drop_for_room(job),
        }
    }

    /// Accepts several closures at once, in a pool without a capacity, and makes a receipt for each.
    ///
    /// # Errors
    /// Returns the closures that were not accepted.
    pub(crate) fn submit_batch<F, T, R>(self, closures: Vec<F>) -> Result<Vec<R>, Rejected<Vec<F>>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: 'static,
        R: Receipt<T>,
    {
        let (jobs, receipts) = closures.into_iter().map(|closure| R::make(closure)).unzip();
        let accepted = match self {
            At::Worker(worker) => worker.submit_batch(jobs),
            At::Outside(core) => core.inject_batch(jobs),
            At::Gone(_) => Err(jobs),
        };
        let back = |jobs: Vec<_>| {
            self.count_rejected(jobs.len() as u64);
            Rejected::new(jobs.into_iter().map(closure_of).collect(), self.refusal())
        };
        accepted.map(|()| receipts).map_err(back)
    }
}

/// Accepts a job, in a pool without a capacity or with room for the job.
///
/// # Errors
/// Returns the job if the pool does not accept it.
#[inline]
pub(crate) fn accept(key: Key, job: Job) -> Result<(), Rejected<Job>> {
    CURRENT.with(|worker| match worker {
        Some(worker) if worker.is_open_to(key) => {
            worker.submit(job).map_err(|job| At::Worker(worker).rejected(job))
        }
        _ => accept_elsewhere(key, job),
    })
}

/// Like [`accept`], with that class, or the submitting job's class for `None`.
///
/// # Errors
/// As for [`accept`].
#[inline]
pub(crate) fn accept_as(key: Key, class: Option<Priority>, job: Job) -> Result<(), Rejected<Job>> {
    match class {
        None => accept(key, job),
        Some(_) => reach(key, |at| at.accept_or_reject(class, job)),
    }
}

/// Accepts a job from a thread outside of the pool, or from a job not of the default class. A single copy of the code
/// serves all closures.
///
/// # Errors
/// As for [`accept`].
#[inline(never)]
pub(super) fn accept_elsewhere(key: Key, job: Job) -> Result<(), Rejected<Job>> {
    reach(key, |at| at.accept_or_reject(None, job))
}

/// Like [`accept`], for the owner of a pool.
///
/// # Errors
/// As for [`accept`].
#[inline(never)]
pub(crate) fn accept_owned(core: &Arc<Core>, job: Job) -> Result<(), Rejected<Job>> {
    reach_owned(core, |at| at.accept_or_reject(None, job))
}

/// Makes a job and a receipt of a closure, and passes the job to `accept`.
///
/// # Errors
/// Returns the closure if `accept` rejects the job.
pub(crate) fn submit<F, T, R>(
    closure: F,
    accept: impl FnOnce(Job) -> Result<(), Rejected<Job>>,
) -> Result<R, Rejected<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: 'static,
    R: Receipt<T>,
{
    submit_job(R::make(closure), accept, closure_of)
}

/// Passes a job to `accept`, and returns the receipt.
///
/// # Errors
/// Returns the work, which `back` extracts from the job, if `accept` rejects the job.
// Inlined: a call costs a job with a handle a twentieth.
#[inline(always)]
pub(crate) fn submit_job<W, R>(
    (job, receipt): (Job, R),
    accept: impl FnOnce(Job) -> Result<(), Rejected<Job>>,
    back: impl FnOnce(Job) -> W,
) -> Result<R, Rejected<W>> {
    match accept(job) {
        Ok(()) => Ok(receipt),
        Err(rejected) => {
            // Dropped before the job is taken apart, so that no handle is notified.
            drop(receipt);
            Err(rejected.map(back))
        }
    }
}
