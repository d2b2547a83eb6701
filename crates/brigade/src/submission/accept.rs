//! Accepting a job: the verbs of a [`Handle`], and what they end in on the calling worker, or in the pool from outside.

use core::convert::identity;
use std::panic::Location;
use std::sync::Arc;

use brigade_sync::OnceLock;
use brigade_sync::atomic::{Ordering, fence};
use brigade_task::{
    Callable, HandledJob, Job, Work, has_job_values, is_large, may_have_job_values,
};

use super::{Admitted, Submission};
use crate::engine::{
    Admission, At, Key, Leaving, Shared, Unqueued, Worker, reach_inline, reach_owned, wait_until,
    with_worker,
};
use crate::handle::{Handle, JoinHandle};
use crate::values::{Priority, Rejected, WhenFull, closure_of, expect_accepted};

impl Handle {
    /// Runs a closure on the pool, once.
    ///
    /// Blocks only if the pool is bounded and [blocks when it is full](crate::WhenFull), the default policy of
    /// bounded pools. May start a thread, according to the pool's [growth](crate::Builder::growth). Does not allocate
    /// if the captures have at most 24 bytes and the alignment of a pointer, unless it comes from outside of the pool in a
    /// program that has used [values](crate::JobBuilder::with). A bounded pool [allocates
    /// once](crate::Builder::capacity) for any captures.
    ///
    /// Captures are moved by value on the way to the queue, and onto the stack of the running thread. Box captures of
    /// 10 kB and more, such as arrays. A few hundred kilobytes (a hundred in a debug build) may overflow the stack of a
    /// worker, which has 2 MiB by default.
    ///
    /// # Panics
    /// If the pool does not accept the closure, because
    /// - it has been closed, shut down or dropped, and the caller is not one of its own jobs;
    /// - it has no thread and can't start one, which is possible only if the [core size is
    ///   0](crate::Builder::keep_alive);
    /// - it is full, and its [policy](crate::WhenFull) is to reject jobs;
    /// - it belongs to the parent of a fork.
    ///
    /// [`try_execute`](Self::try_execute) and [`job`](Self::job) return the closure instead.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RAN: AtomicU32 = AtomicU32::new(0);
    /// let pool = brigade::Pool::new(2);
    /// for _ in 0..100 {
    ///     pool.execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
    /// }
    /// pool.wait_idle();
    /// assert_eq!(RAN.load(Ordering::Relaxed), 100);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn execute<F: Callable + Send + 'static>(&self, job: F) {
        expect_accepted(submit::<_, ()>(self.key, job, None));
    }

    /// Runs a closure on the pool, once, or returns it. Never waits, under any [policy](WhenFull) of the pool.
    ///
    /// # Errors
    /// Returns the closure if the pool is full, or for the other reasons of [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RAN: AtomicU32 = AtomicU32::new(0);
    /// let pool = brigade::Pool::builder().threads(2).capacity(100).build()?;
    /// for _ in 0..1000 {
    ///     if let Err(rejected) = pool.try_execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed)) {
    ///         rejected.into_inner()(); // Run it here.
    ///     }
    /// }
    /// pool.wait_idle();
    /// assert_eq!(RAN.load(Ordering::Relaxed), 1000);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_execute<F: Callable + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        submit(self.key, job, Some(WhenFull::Reject))
    }

    /// Runs a closure on the pool, once, and returns a handle for the outcome. Allocates once, in a bounded pool twice.
    /// Blocks where [`execute`](Self::execute) does.
    ///
    /// # Panics
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let answer = pool.submit(|| 6 * 7);
    /// assert_eq!(answer.join()?, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    // Compiled where the free function is, which then is no part of its caller: a level of recursion takes 16 bytes less.
    #[inline]
    #[doc(alias = "spawn_blocking")]
    #[doc(alias = "evaluate")]
    #[track_caller]
    pub fn submit<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        JoinHandle::new(expect_accepted(submit(self.key, job, None)), self.key)
    }

    /// Runs a closure on the pool, once, and returns a handle for the outcome, or returns the closure. Never waits.
    ///
    /// # Errors
    /// As for [`try_execute`](Self::try_execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// assert_eq!(pool.try_submit(|| 42)?.join()?, 42);
    /// pool.close();
    /// let rejected = pool.try_submit(|| 42).unwrap_err();
    /// assert_eq!(rejected.into_inner()(), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn try_submit<F, T>(&self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        let handle = submit(self.key, job, Some(WhenFull::Reject))?;
        Ok(JoinHandle::new(handle, self.key))
    }
}

impl<'a> At<'a> {
    /// Accepts a job, with the class of the submitting job if `class` is `None`.
    ///
    /// # Errors
    /// Returns the job if the pool does not accept it.
    pub(crate) fn accept(self, class: Option<Priority>, job: Job) -> Result<(), Job> {
        match (self, class) {
            (At::Worker(worker), _) => worker.submit_as(class, job),
            (At::Outside(shared), class) => shared.inject(class.unwrap_or_default(), job),
            (At::Gone(_), _) => Err(job),
        }
    }

    /// Whether the pool would reject a job submitted now.
    pub(crate) fn refuses(self) -> bool {
        match self {
            At::Worker(worker) => worker.discards(),
            At::Outside(shared) => shared.is_closed(),
            At::Gone(_) => true,
        }
    }

    /// Accepts a job that waits for the permit of a `Limited`; `false` if the pool refuses it.
    pub(crate) fn begin_limited(self) -> bool {
        let Some(shared) = self.shared() else { return false };
        shared.ledger.begin_limited();
        // Ordering: count the job, fence, and read the state; the end of the pool changes the state, fences, and reads the count.
        fence(Ordering::SeqCst);
        let refuses = self.refuses();
        if refuses {
            drop(self.leave_line());
        }
        !refuses
    }

    /// Counts a job that waits for the permit of a `Limited` no longer, until the returned value is dropped, as about to be queued or dropped.
    pub(crate) fn leave_line(self) -> Option<Leaving<'a>> {
        self.shared().map(|shared| shared.leave_line())
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
            At::Outside(shared) => shared.accept_late(class, job),
            At::Worker(_) | At::Gone(_) => Err(job),
        }
    }

    /// Decides what happens to a submission, and waits for a permit if necessary.
    #[inline(never)]
    pub(crate) fn admit(self, admitted: Admitted) -> Admission<'a> {
        let Some(shared) = self.shared() else { return Admission::Refuse(self.refusal()) };
        match ADMIT.get() {
            Some(admit) if shared.permits.is_some() => admit(self, shared, admitted),
            _ => Admission::Queue(None),
        }
    }

    /// Queues a job that has been [admitted](Self::admit), or runs or drops the job.
    ///
    /// # Errors
    /// Returns the job with the reason if the pool does not accept it.
    #[inline(never)]
    pub(crate) fn place(
        self,
        class: Option<Priority>,
        how: Option<Unqueued<'_>>,
        job: Job,
    ) -> Result<(), Rejected<Job>> {
        match (how, self.shared()) {
            (Some(Unqueued { work: _work, finish }), Some(shared)) => {
                job.note_class(class.unwrap_or_default().noted());
                finish(shared, job);
                Ok(())
            }
            _ => self.accept(class, job).map_err(|job| self.rejected(job)),
        }
    }

    /// Accepts several closures at once, in a pool without a capacity, and makes a receipt for each.
    ///
    /// # Errors
    /// Returns the closures that were not accepted.
    pub(crate) fn submit_batch<F, R: Receipt>(
        self,
        closures: Vec<F>,
    ) -> Result<Vec<R>, Rejected<Vec<F>>>
    where
        F: FnOnce() -> R::Output + Send + 'static,
    {
        let make = |closure| {
            let (job, receipt) = R::make(closure);
            (job.into(), receipt)
        };
        let (jobs, receipts) = closures.into_iter().map(make).unzip();
        let accepted = match self {
            At::Worker(worker) => worker.submit_batch(jobs),
            At::Outside(shared) => shared.inject_batch(jobs),
            At::Gone(_) => Err(jobs),
        };
        let back = |jobs: Vec<_>| {
            self.count_rejected(jobs.len() as u64);
            Rejected::new(jobs.into_iter().map(closure_of).collect(), self.refusal())
        };
        accepted.map(|()| receipts).map_err(back)
    }
}

/// Admits to a bounded pool. It is set once the program has made a builder for a bounded pool: all other programs do
/// not contain the function.
pub(crate) static ADMIT: OnceLock<Admit> = OnceLock::new();

type Admit = for<'a> fn(At<'a>, &'a Shared, Admitted) -> Admission<'a>;

/// Decides on a submission to a bounded pool.
pub(crate) fn admit_bounded<'a>(
    at: At<'a>,
    shared: &'a Shared,
    Admitted { when_full, deadline, .. }: Admitted,
) -> Admission<'a> {
    let when_full = when_full.unwrap_or(shared.config.when_full);
    let admission = shared.admit(when_full, deadline, at.worker().is_some());
    admission.unwrap_or_else(|wait| shared.wait_for_permit(wait, wait_until))
}

/// A pool to submit to: the key of a handle, or the state that the pool's owner has, which saves the look-up.
pub(crate) trait Target: Copy {
    fn key(self) -> Key;

    fn reach(self, call: impl FnMut(At<'_>));

    /// The pool of an owner, in the process of the pool.
    #[inline(always)]
    fn owned(&self) -> Option<&Arc<Shared>> {
        None
    }
}

impl Target for Key {
    #[inline(always)]
    fn key(self) -> Key {
        self
    }

    #[inline(always)]
    fn reach(self, call: impl FnMut(At<'_>)) {
        reach_inline(self, call);
    }
}

impl Target for &Arc<Shared> {
    #[inline(always)]
    fn key(self) -> Key {
        self.key
    }

    #[inline(always)]
    fn reach(self, call: impl FnMut(At<'_>)) {
        reach_owned(self, call);
    }

    #[inline(always)]
    fn owned(&self) -> Option<&Arc<Shared>> {
        self.key.is_here().then_some(*self)
    }
}

/// Submits a closure; `when_full` is the policy for a full pool, or `None` for the pool's own.
///
/// Inlined into the caller with all callees down to the slot of a worker's queue, so that the captures go there from
/// registers. Each intermediate copy of a job costs more than the rest: the copy's wide loads must wait for the narrow
/// stores that made the closure.
///
/// # Errors
/// Returns the closure if the pool does not accept it.
#[inline(always)]
#[track_caller]
pub(crate) fn submit<F, R: Receipt>(
    pool: impl Target,
    closure: F,
    when_full: Option<WhenFull>,
) -> Result<R, Rejected<F>>
where
    F: FnOnce() -> R::Output + Send + 'static,
{
    let (key, place) = (pool.key(), Location::caller());
    if const { is_large::<F>() } {
        let submission = Submission { work: (), when_full, options: None, place };
        return submission.submit_large(closure, key, identity);
    }
    with_worker(|worker| {
        let own = open_to(worker, key);
        if own.is_none() && (may_have_job_values() || !key.is_plain()) {
            return Submission { work: closure, when_full, options: None, place }.submit(key);
        }
        if R::IS_HANDLE {
            return submit_job(R::make(closure), |job| accept_made(pool, own, job), closure_of);
        }
        // Without a handle a job is in no memory before its slot, on a worker or for the owner: not through `reach`. Else a
        // submission takes 1.5 times as long (`submit --pattern contended`).
        match (own, worker, pool.owned()) {
            (Some(own), ..) if !own.discards() => {
                let (job, receipt) = R::make(closure);
                own.enqueue(job.into());
                Ok(receipt)
            }
            (_, None, Some(shared)) => {
                let inject = |job: R::Job| shared.inject(Priority::Normal, job.into());
                let reject = |job| At::Outside(shared).rejected(job);
                submit_job(R::make(closure), |job| inject(job).map_err(reject), closure_of)
            }
            _ => {
                let accept = |job: R::Job| accept_elsewhere(pool, None, job.into());
                submit_job(R::make(closure), accept, closure_of)
            }
        }
    })
}

/// The worker, if submissions to the pool go to its own queue: they have no values to inherit.
#[inline(always)]
fn open_to(worker: Option<&Worker>, key: Key) -> Option<&Worker> {
    worker.filter(|own| own.is_open_to(key))
}

/// Whether a job submitted to the pool by the calling code inherits values.
#[inline(always)]
pub(crate) fn inherits(key: Key) -> bool {
    with_worker(|worker| open_to(worker, key).is_none())
        && may_have_job_values()
        && has_job_values()
}

/// Accepts the job of a closure with a handle, in a pool without a capacity, on its own worker or elsewhere. It is passed in registers, so a single copy of the code
/// serves all closures.
///
/// # Errors
/// Returns the job if the pool does not accept it.
#[inline(never)]
fn accept_made(
    pool: impl Target,
    own: Option<&Worker>,
    job: impl Into<Job>,
) -> Result<(), Rejected<Job>> {
    match own {
        Some(own) if !own.discards() => {
            own.enqueue(job.into());
            Ok(())
        }
        _ => accept_elsewhere(pool, None, job.into()),
    }
}

/// Accepts a job of a class, or of the submitting job's class for `None`, in a pool without a capacity or with room for
/// the job.
///
/// # Errors
/// Returns the job if the pool does not accept it.
#[inline]
pub(crate) fn accept(key: Key, class: Option<Priority>, job: Job) -> Result<(), Rejected<Job>> {
    with_worker(|worker| match worker {
        Some(own) if own.is_of(key) => {
            own.submit_as(class, job).map_err(|job| At::Worker(own).rejected(job))
        }
        _ => accept_elsewhere(key, class, job),
    })
}

/// Like [`accept`], from a thread outside of the pool, or from a job not of the default class. A single copy of the code
/// serves all closures.
#[inline(never)]
fn accept_elsewhere(
    pool: impl Target,
    class: Option<Priority>,
    job: Job,
) -> Result<(), Rejected<Job>> {
    let (mut job, mut accepted) = (Some(job), Ok(()));
    pool.reach(|at| {
        if let Some(job) = job.take() {
            accepted = at.accept(class, job).map_err(|job| at.rejected(job));
        }
    });
    accepted
}

/// The result of a submission for an accepted job: nothing, or a handle for the outcome.
pub(crate) trait Receipt: Sized {
    /// The output of the job.
    type Output: 'static;

    /// The job, in as few words as a call passes in registers if the receipt is a handle.
    type Job: Into<Job>;

    /// Whether the receipt is a handle.
    const IS_HANDLE: bool;

    /// Makes a job and its receipt.
    fn make(work: impl Work<Output = Self::Output>) -> (Self::Job, Self);
}

impl Receipt for () {
    type Output = ();
    type Job = Job;
    const IS_HANDLE: bool = false;

    fn make(work: impl Work<Output = ()>) -> (Job, Self) {
        (Job::new(work), ())
    }
}

impl<T: Send + 'static> Receipt for brigade_task::JoinHandle<T> {
    type Output = T;
    type Job = HandledJob;
    const IS_HANDLE: bool = true;

    fn make(work: impl Work<Output = T>) -> (HandledJob, Self) {
        HandledJob::new(work)
    }
}

/// Passes a job to `accept`, and returns the receipt.
///
/// # Errors
/// Returns the work, which `back` extracts from the job, if `accept` rejects the job.
// Inlined: a call costs a job with a handle a twentieth.
#[inline(always)]
pub(crate) fn submit_job<W, J, R>(
    (job, receipt): (J, R),
    accept: impl FnOnce(J) -> Result<(), Rejected<Job>>,
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
