//! Submitting to a pool: the methods of a [`Handle`](crate::Handle), and what a bounded pool or a [`JobBuilder`] adds.
//!
//! In an unbounded pool, a closure without a deadline or a name becomes a plain job. Everything else is a [`Submission`]: that
//! path is not hot, and the hot one sees by the pool's key that it need not take it.

mod accept;
mod broadcast;
mod job_builder;
mod queued;
mod reserve;
mod verbs;

use brigade_task::{Job, Work};

use crate::config::WhenFull;
use crate::engine::Admission;
use crate::key::Key;
use crate::registry::{At, reach};
use crate::rejected::{Rejected, closure_of};
use crate::semaphore::Permit;
pub use job_builder::JobBuilder;
use queued::Queued;
pub(crate) use queued::{Options, Terms};
pub use reserve::Reserved;
pub(crate) use reserve::Room;

/// What a submission returns for an accepted job: nothing, or a handle for its outcome.
pub(crate) trait Receipt<T>: Sized {
    /// Makes a job.
    fn make(work: impl Work<Output = T>) -> (Job, Self);
}

impl Receipt<()> for () {
    fn make(work: impl Work<Output = ()>) -> (Job, Self) {
        (Job::new(work), ())
    }
}

impl<T: Send + 'static> Receipt<T> for brigade_task::JoinHandle<T> {
    fn make(work: impl Work<Output = T>) -> (Job, Self) {
        Job::with_handle(work)
    }
}

/// A closure that is being submitted.
pub(crate) struct Submission<F, D = ()> {
    work: F,
    /// The policy if the pool is full; `None` for the pool's own.
    when_full: Option<WhenFull>,
    terms: D,
}

impl<F, D: Terms> Submission<F, D> {
    /// Submits it to the pool with this key.
    #[cold]
    #[inline(never)]
    pub(crate) fn submit<T, R>(self, key: Key) -> Result<R, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        R: Receipt<T>,
    {
        reach(key, |at| self.submit_at(at))
    }

    fn submit_at<T, R>(self, at: At<'_>) -> Result<R, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        R: Receipt<T>,
    {
        let Self { work, when_full, terms } = self;
        let Some(core) = at.core() else { return Err(at.rejected(work)) };
        let when_full = when_full.unwrap_or(core.config.when_full);
        match at.admit(core, when_full, terms.deadline()) {
            Admission::Queue(permit) => submit_with(at, permit, terms, work),
            Admission::Unqueued(how) => {
                let (job, receipt) = R::make(Queued { permit: None, terms, work });
                at.settle(core, how, job);
                Ok(receipt)
            }
            Admission::Refuse(reason) => Err(Rejected::new(work, reason)),
        }
    }
}

/// Makes a job of a closure that has a permit, or needs none.
pub(crate) fn make_with_permit<F, T, R>(permit: Option<Permit>, work: F) -> (Job, R)
where
    F: FnOnce() -> T + Send + 'static,
    R: Receipt<T>,
{
    R::make(Queued { permit, terms: (), work })
}

/// Submits a closure that has a permit, or needs none.
pub(crate) fn submit_with<F, D, T, R>(
    at: At<'_>,
    permit: Option<Permit>,
    terms: D,
    work: F,
) -> Result<R, Rejected<F>>
where
    F: FnOnce() -> T + Send + 'static,
    D: Terms,
    R: Receipt<T>,
{
    let (job, receipt) = R::make(Queued { permit, terms, work });
    at.accept(job).map(|()| receipt).map_err(|job| {
        let Queued { work, .. } = closure_of::<Queued<F, D>>(job);
        at.rejected(work)
    })
}

/// Submits several closures, one after the other; returns the first that was not accepted and all after it.
#[cold]
fn submit_each<F, T, R>(
    jobs: Vec<F>,
    mut submit: impl FnMut(F) -> Result<R, Rejected<F>>,
) -> Result<Vec<R>, Rejected<Vec<F>>>
where
    F: FnOnce() -> T + Send + 'static,
    R: Receipt<T>,
{
    let mut receipts = Vec::with_capacity(jobs.len());
    let mut jobs = jobs.into_iter();
    while let Some(job) = jobs.next() {
        match submit(job) {
            Ok(receipt) => receipts.push(receipt),
            Err(rejected) => {
                let reason = rejected.reason();
                let rest = core::iter::once(rejected.into_inner()).chain(jobs).collect();
                return Err(Rejected::new(rest, reason));
            }
        }
    }
    Ok(receipts)
}
