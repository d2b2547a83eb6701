//! Submission by a [`Handle`].

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
    /// have at most 24 bytes (16 in a bounded pool) and the alignment of a pointer.
    ///
    /// # Errors
    /// Returns the closure if the pool has been shut down or dropped, has no thread and can't start one, or is full and its
    /// [policy](crate::WhenFull) rejects jobs then. Also if the pool belongs to a process that this one was forked from. A
    /// job of a pool that is [draining](crate::Shutdown::Drain) may still submit to it.
    #[inline(always)]
    pub fn execute<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        if self.key.is_bounded() {
            return Submission::new(job).submit(self.key);
        }
        // Not by `reach`: passing `job` itself on to there would force it into memory.
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
    /// The iterator is exhausted before any closure is accepted. A bounded pool accepts them one by one, each as
    /// [`execute`](Self::execute) would.
    ///
    /// # Errors
    /// Returns the closures that were not accepted, in order, for the reasons of [`execute`](Self::execute); those before
    /// them, if any, were accepted and will run.
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

    /// Hands closures to idle threads of the pool, one to each, and wakes all of these at once. Returns the closures for
    /// which there is no idle thread, in order.
    ///
    /// Nothing is queued, no job waits behind another, and no thread is started (see [`prestart`](crate::Builder::prestart)).
    /// Use it where a few jobs come at once after a quiet time and each must begin soon; to keep threads busy, use
    /// [`execute_batch`](Self::execute_batch). A thread is idle once it has found nothing to do, whether it sleeps or still
    /// [spins](crate::Idle).
    ///
    /// One job for each thread that is idle now is taken from the iterator before the first is handed over; if the iterator
    /// panics, none is. If other work takes such a thread first, its job is returned, followed by the rest of the iterator,
    /// which has not been advanced. A [capacity](crate::Builder::capacity) does not apply here. A pool that is shut down
    /// returns everything.
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
    ///     not_now(); // No thread is idle: we do it ourselves.
    /// }
    /// assert_eq!(results.iter().take(5).sum::<i32>(), 15);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "these jobs were not accepted"]
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
    /// Whatever the pool's [policy](WhenFull) is, this never waits, never runs the job here and cancels no other job.
    ///
    /// # Errors
    /// Returns the closure if the pool is full, and for the other reasons of [`execute`](Self::execute).
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

    /// Accepts a closure, to be run once, and waits for room for `timeout` at most, whatever the pool's policy is.
    ///
    /// A job of the same pool does not wait: if the pool is full, the closure runs inside this call, unless `timeout` is 0. A
    /// job of another pool waits as in [`blocking`](crate::blocking).
    ///
    /// # Errors
    /// Returns the closure if there was no room within `timeout`, and not earlier, and for the other reasons of
    /// [`execute`](Self::execute).
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

    /// Accepts a closure, to be run once, as soon as there is room, whatever the pool's policy is, without blocking a thread.
    ///
    /// The future does nothing until it is polled. If a job of the same pool polls it, which must not wait for itself, and
    /// the pool is full, the closure runs inside that poll. Other submissions may wait behind it: poll it when it has been
    /// woken, or drop it, which passes the wake-up on.
    ///
    /// # Errors
    /// Returns the closure for the reasons of [`execute`](Self::execute), except that the pool is full. If the pool is shut
    /// down meanwhile, it does so at once.
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
    /// comes. Until then it counts as queued.
    ///
    /// A job that has started by then continues. In a pool that [blocks](WhenFull::Block) when it is full, this waits until
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

    /// Adds the pool's key to the handle for a job's outcome.
    fn joined<F, T>(
        &self,
        accepted: Result<brigade_task::JoinHandle<T>, Rejected<F>>,
    ) -> Result<JoinHandle<T>, Rejected<F>> {
        accepted.map(|handle| JoinHandle::new(handle, self.key))
    }
}
