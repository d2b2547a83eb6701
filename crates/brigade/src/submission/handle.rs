//! The ways in that a bounded pool and a deadline add to a [`Handle`].

use core::future::Future;
use core::time::Duration;
use std::time::Instant;

use super::Submission;
use crate::config::WhenFull;
use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::rejected::Rejected;

impl Handle {
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
        Submission::new(job).when_full(WhenFull::Reject).hand_in(self.key)
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
        self.joined(Submission::new(job).when_full(WhenFull::Reject).hand_in(self.key))
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
        Submission::new(job).when_full(WhenFull::BlockFor(timeout)).hand_in(self.key)
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
        self.joined(Submission::new(job).when_full(WhenFull::BlockFor(timeout)).hand_in(self.key))
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
        Submission::new(job).hand_in_later(self.key)
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
        async move { handle.joined(Submission::new(job).hand_in_later(handle.key).await) }
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
        Submission::new(job).before(deadline).hand_in(self.key)
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
        self.joined(Submission::new(job).before(deadline).hand_in(self.key))
    }

    /// Makes the handle for a job's outcome one that knows the pool.
    fn joined<F, T>(
        &self,
        accepted: Result<brigade_task::JoinHandle<T>, Rejected<F>>,
    ) -> Result<JoinHandle<T>, Rejected<F>> {
        accepted.map(|handle| JoinHandle::new(handle, self.key))
    }
}
