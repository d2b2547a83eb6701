//! The ways in that a [`Handle`] has.

use core::future::Future;
use core::time::Duration;
use std::time::Instant;

use brigade_task::Job;

use super::accept::accept_outside;
use super::{Submission, submit_all};
use crate::config::WhenFull;
use crate::engine::{self, CURRENT};
use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::registry::{At, reach};
use crate::rejected::{Rejected, closure_of};

impl Handle {
    /// Accepts a closure, to be run once.
    ///
    /// Never blocks, unless the pool is bounded and [does so when full](crate::WhenFull). Does not allocate if the captures
    /// have at most 24 bytes (16 in a bounded pool) and the alignment of a word.
    ///
    /// # Errors
    /// Gives the closure back if the pool has been shut down or dropped, has no thread and can't start one, is full
    /// and [gives jobs back then](crate::WhenFull), or is that of a process that this one was forked from. A job of a
    /// pool that is [draining](crate::Shutdown::Drain) may still submit to it.
    #[inline(always)]
    pub fn execute<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        if self.key.is_bounded() {
            return Submission::new(job).submit(self.key);
        }
        // Not by `reach`: were `job` itself passed on to there, it would have to lie in memory.
        CURRENT.with(|worker| match worker {
            Some(worker) if worker.is_of(self.key) => At::Worker(worker).execute(job),
            _ => accept_outside(self.key, Job::new(job)).map_err(|job| job.map(closure_of)),
        })
    }

    /// Accepts a closure, to be run once, and gives a handle for its outcome. One allocation; blocks where
    /// [`execute`](Self::execute) does.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub fn submit<F, T>(&self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if self.key.is_bounded() {
            return self.joined(Submission::new(job).submit(self.key));
        }
        reach(self.key, |at| at.submit(job)).map(|handle| JoinHandle::new(handle, self.key))
    }

    /// Accepts several closures with one publication, and wakes as many sleeping workers as there are jobs.
    ///
    /// The iterator runs to its end before anything is accepted. A bounded pool accepts them one by one, each as
    /// [`execute`](Self::execute) would.
    ///
    /// # Errors
    /// Gives back the closures that were not accepted, in order, for the reasons of [`execute`](Self::execute);
    /// those before them, if any, were accepted and will run.
    pub fn execute_batch<I>(&self, jobs: I) -> Result<(), Rejected<Vec<I::Item>>>
    where
        I: IntoIterator,
        I::Item: FnOnce() + Send + 'static,
    {
        if self.key.is_bounded() {
            return submit_all(self.key, jobs.into_iter());
        }
        let jobs = jobs.into_iter().collect();
        reach(self.key, |at| at.execute_batch(jobs))
    }

    /// Hands closures to threads of the pool that are idle, one to each, and wakes all of these at once; gives back what
    /// it has no idle thread for, in order: now or never.
    ///
    /// Nothing is queued, no job waits behind another, and no thread is started (see
    /// [`prestart`](crate::Builder::prestart)). Of use where a few jobs come at once after a quiet time and each has to begin
    /// soon; [`execute_batch`](Self::execute_batch) is what keeps threads busy. A thread is idle once it has found nothing to
    /// do, whether it sleeps or still [looks out](crate::Idle) for more.
    ///
    /// The iterator is asked for one job for each thread that is idle when this is called, before the first is handed over;
    /// if it panics none is. What comes back are those of them that somebody else's work was quicker for, and the rest
    /// of the iterator, which has not been looked at. A [capacity](crate::Builder::capacity) is no matter here. A pool that
    /// is shut down gives everything back.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let pool = brigade::Pool::builder().threads(2).prestart().build()?;
    /// let (done, results) = mpsc::channel();
    /// let work = (1..=5).map(|number| {
    ///     let done = done.clone();
    ///     move || done.send(number).unwrap()
    /// });
    /// for not_now in pool.handle().dispatch(work) {
    ///     not_now(); // Nobody is idle: we do it ourselves.
    /// }
    /// assert_eq!(results.iter().take(5).sum::<i32>(), 15);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "these jobs were handed to nobody"]
    pub fn dispatch<I>(&self, jobs: I) -> impl Iterator<Item = I::Item> + use<I>
    where
        I: IntoIterator,
        I::Item: FnOnce() + Send + 'static,
    {
        let jobs = jobs.into_iter();
        reach(self.key, |at| match at.core() {
            Some(core) => engine::dispatch(core, at.worker(), jobs),
            None => Vec::new().into_iter().chain(jobs),
        })
    }

    /// Accepts a closure, to be run once, if there is room for it now.
    ///
    /// Whatever the pool does [when it is full](WhenFull): never waits, never runs the job here, cancels no other.
    ///
    /// # Errors
    /// Gives the closure back if the pool is full, or for a reason that [`execute`](Self::execute) has too.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).capacity(100).build()?;
    /// let handle = pool.handle();
    /// handle.try_execute(|| ())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_execute<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        Submission::new(job).when_full(WhenFull::Reject).submit(self.key)
    }

    /// Like [`try_execute`](Self::try_execute), and gives a handle for the outcome.
    ///
    /// # Errors
    /// As for [`try_execute`](Self::try_execute).
    pub fn try_submit<F, T>(&self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.joined(Submission::new(job).when_full(WhenFull::Reject).submit(self.key))
    }

    /// Accepts a closure, to be run once, and waits for room for `timeout` at most, whatever the pool does when it is full.
    ///
    /// A job of the same pool does not wait: if the pool is full the closure is run right here, unless `timeout` is 0.
    /// A job of another pool waits as in [`blocking`](crate::blocking).
    ///
    /// # Errors
    /// Gives the closure back if there was no room in that time, no earlier, or for a reason that
    /// [`execute`](Self::execute) has too.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::builder().threads(1).capacity(1).build()?;
    /// for _ in 0..100 {
    ///     pool.handle().execute_timeout(|| (), Duration::MAX)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute_timeout<F>(&self, job: F, timeout: Duration) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        Submission::new(job).when_full(WhenFull::BlockFor(timeout)).submit(self.key)
    }

    /// Like [`execute_timeout`](Self::execute_timeout), and gives a handle for the outcome.
    ///
    /// # Errors
    /// As for [`execute_timeout`](Self::execute_timeout).
    pub fn submit_timeout<F, T>(
        &self,
        job: F,
        timeout: Duration,
    ) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.joined(Submission::new(job).when_full(WhenFull::BlockFor(timeout)).submit(self.key))
    }

    /// Accepts a closure, to be run once, as soon as there is room, whatever the pool does when it is full; no thread waits
    /// for that.
    ///
    /// The future does nothing until it is polled. If it is polled by a job of the same pool, which must not wait for
    /// itself, and the pool is full, the closure is run right there. Others may stand in line behind it: poll it when it has
    /// been woken, or drop it, which passes the wake on.
    ///
    /// # Errors
    /// Gives the closure back for a reason that [`execute`](Self::execute) has too, except that the pool is full; if it is
    /// shut down meanwhile, at once.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has submitted nothing, and the closure is dropped with it.
    ///
    /// ```
    /// # fn block_on<F: std::future::Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     loop {
    /// #         if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut context) {
    /// #             return done;
    /// #         }
    /// #     }
    /// # }
    /// let pool = brigade::Pool::builder().threads(1).capacity(1).build()?;
    /// let handle = pool.handle();
    /// block_on(async {
    ///     for _ in 0..100 {
    ///         handle.execute_async(|| ()).await?;
    ///     }
    ///     Ok::<(), Box<dyn std::error::Error>>(())
    /// })?;
    /// assert_eq!(pool.shutdown(brigade::Shutdown::Drain).ran, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute_async<F>(
        &self,
        job: F,
    ) -> impl Future<Output = Result<(), Rejected<F>>> + Send + use<F>
    where
        F: FnOnce() + Send + 'static,
    {
        Submission::new(job).submit_later(self.key)
    }

    /// Like [`execute_async`](Self::execute_async), and gives a handle for the outcome, which may be awaited in turn.
    ///
    /// # Errors
    /// As for [`execute_async`](Self::execute_async).
    ///
    /// # Cancel safety
    /// As for [`execute_async`](Self::execute_async).
    pub fn submit_async<F, T>(
        &self,
        job: F,
    ) -> impl Future<Output = Result<JoinHandle<T>, Rejected<F>>> + Send + use<F, T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let handle = *self;
        async move { handle.joined(Submission::new(job).submit_later(handle.key).await) }
    }

    /// Accepts a closure, to be run once, but not if it is still queued at `deadline`: then it is cancelled when its turn
    /// comes. Until that it counts as queued.
    ///
    /// A job that has started by then goes on. In a pool that [waits](WhenFull::Block) when it is full, this waits until
    /// `deadline` at most.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute); and [`Reason::Full`](crate::Reason::Full) if there was no room until `deadline`.
    ///
    /// ```
    /// use brigade::JoinError;
    /// use std::time::{Duration, Instant};
    /// let pool = brigade::Pool::new(1);
    /// let (now, soon) = (Instant::now(), Instant::now() + Duration::from_secs(60));
    /// let late = pool.submit_before(now, || 42)?;
    /// assert!(matches!(late.join(), Err(JoinError::Cancelled)));
    /// assert_eq!(pool.submit_before(soon, || 42)?.join().unwrap(), 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute_before<F>(&self, deadline: Instant, job: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        Submission::new(job).before(deadline).submit(self.key)
    }

    /// Like [`execute_before`](Self::execute_before), and gives a handle for the outcome: a job that was not started in time
    /// is [cancelled](crate::JoinError::Cancelled).
    ///
    /// # Errors
    /// As for [`execute_before`](Self::execute_before).
    pub fn submit_before<F, T>(
        &self,
        deadline: Instant,
        job: F,
    ) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.joined(Submission::new(job).before(deadline).submit(self.key))
    }

    /// Makes the handle for a job's outcome one that knows the pool.
    fn joined<F, T>(
        &self,
        accepted: Result<brigade_task::JoinHandle<T>, Rejected<F>>,
    ) -> Result<JoinHandle<T>, Rejected<F>> {
        accepted.map(|handle| JoinHandle::new(handle, self.key))
    }
}
