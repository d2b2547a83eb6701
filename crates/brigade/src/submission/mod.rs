//! Submitting to a pool: the methods of a [`Handle`](crate::Handle), and what a bounded pool or a deadline adds.
//!
//! What an unbounded pool accepts without a deadline is a plain job. All else is a [`Submission`]: that path is not hot, and the
//! hot one knows by the pool's key that it need not look.

mod accept;
mod queued;
mod verbs;

use core::future::{Future, poll_fn};
use core::task::{Context, Poll};
use std::time::Instant;

use brigade_task::{Job, Work};

use crate::config::WhenFull;
use crate::engine::Admission;
use crate::key::Key;
use crate::registry::{At, reach};
use crate::rejected::{Reason, Rejected, closure_of};
use crate::semaphore::{Permit, Waiter};
use queued::{Deadline, Queued};

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

/// A closure on its way to a pool.
pub(crate) struct Submission<F, D = ()> {
    work: F,
    /// What to do if the pool is full; `None` for what it is configured to.
    when_full: Option<WhenFull>,
    deadline: D,
}

impl<F> Submission<F> {
    /// A closure that the pool treats as it is configured to.
    #[inline(always)]
    pub(crate) fn new(work: F) -> Self {
        Self { work, when_full: None, deadline: () }
    }

    /// With something else to do if the pool is full.
    fn when_full(self, when_full: WhenFull) -> Self {
        Self { when_full: Some(when_full), ..self }
    }

    /// Must not be started any more from this instant on.
    fn before(self, deadline: Instant) -> Submission<F, Instant> {
        Submission { work: self.work, when_full: self.when_full, deadline }
    }
}

impl<F, D: Deadline> Submission<F, D> {
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
        let Self { work, when_full, deadline } = self;
        let Some(core) = at.core() else { return Err(at.rejected(work)) };
        let when_full = when_full.unwrap_or(core.config.when_full);
        match at.admit(core, when_full, deadline.at()) {
            Admission::Queue(permit) => submit_with(at, permit, deadline, work),
            Admission::Unqueued(how) => {
                let (job, receipt) = R::make(Queued { permit: None, deadline, work });
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
    R::make(Queued { permit, deadline: (), work })
}

/// Submits a closure that has a permit, or needs none.
pub(crate) fn submit_with<F, D, T, R>(
    at: At<'_>,
    permit: Option<Permit>,
    deadline: D,
    work: F,
) -> Result<R, Rejected<F>>
where
    F: FnOnce() -> T + Send + 'static,
    D: Deadline,
    R: Receipt<T>,
{
    let (job, receipt) = R::make(Queued { permit, deadline, work });
    at.accept(job).map(|()| receipt).map_err(|job| {
        let Queued { work, .. } = closure_of::<Queued<F, D>>(job);
        at.rejected(work)
    })
}

impl<F> Submission<F> {
    /// Submits it to the pool with this key as soon as there is a permit, without blocking a thread.
    ///
    /// The future is among the waiters only while it is pending, and in no pool before it is ready.
    fn submit_later<T, R>(self, key: Key) -> impl Future<Output = Result<R, Rejected<F>>> + Send
    where
        F: FnOnce() -> T + Send + 'static,
        R: Receipt<T>,
    {
        let mut waiting = Some((self.work, None));
        poll_fn(move |context| {
            let Some((work, waiter)) = waiting.take() else { panic!("polled after it was ready") };
            match submit_or_wait(work, waiter, key, context) {
                Ok(done) => Poll::Ready(done),
                Err(still) => {
                    waiting = Some(still);
                    Poll::Pending
                }
            }
        })
    }
}

/// Tries to submit a closure; if the pool is full, gives it back with a waiter, and the caller will be woken.
fn submit_or_wait<F, T, R>(
    mut work: F,
    mut waiter: Option<Waiter>,
    key: Key,
    context: &Context<'_>,
) -> Result<Result<R, Rejected<F>>, (F, Option<Waiter>)>
where
    F: FnOnce() -> T + Send + 'static,
    R: Receipt<T>,
{
    // A worker does not wait for itself, and neither may a future on it.
    let on_own_worker = reach(key, |at| at.worker().is_some());
    let when_full = if on_own_worker { WhenFull::RunInCaller } else { WhenFull::Reject };
    if on_own_worker {
        // It needs no permit, so it must not delay the next waiter while its job runs.
        waiter = None;
    }
    let mut is_registered = false;
    loop {
        match Submission::new(work).when_full(when_full).submit(key) {
            Err(rejected) if rejected.reason() == Reason::Full => work = rejected.into_inner(),
            done => return Ok(done),
        }
        if is_registered {
            return Err((work, waiter));
        }
        if waiter.is_none() {
            let permits = reach(key, |at| at.core().and_then(|core| core.permits().cloned()));
            waiter = permits.map(Waiter::new);
        }
        match &mut waiter {
            Some(waiter) => waiter.register(context.waker()),
            // The pool is gone, which the next try says.
            None => continue,
        }
        is_registered = true;
    }
}

/// Submits several closures, one after the other; gives back those from the first one on that was not accepted.
#[cold]
pub(crate) fn submit_all<F>(key: Key, jobs: impl Iterator<Item = F>) -> Result<(), Rejected<Vec<F>>>
where
    F: FnOnce() + Send + 'static,
{
    // To its end first: the iterator is the user's, and may panic.
    let mut jobs = jobs.collect::<Vec<_>>().into_iter();
    while let Some(job) = jobs.next() {
        if let Err(rejected) = Submission::new(job).submit::<(), ()>(key) {
            let reason = rejected.reason();
            let rest = core::iter::once(rejected.into_inner()).chain(jobs).collect();
            return Err(Rejected::new(rest, reason));
        }
    }
    Ok(())
}
