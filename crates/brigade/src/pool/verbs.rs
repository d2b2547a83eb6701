//! Submission to a [`Pool`] that is bounded, or with a deadline, by the methods of its [`Handle`](crate::Handle).

use core::future::Future;
use core::time::Duration;
use std::time::Instant;

use super::Pool;
use crate::join::JoinHandle;
use crate::rejected::Rejected;

impl Pool {
    /// Accepts a closure, to be run once, if there is room for it now; see
    /// [`Handle::try_execute`](crate::Handle::try_execute).
    ///
    /// # Errors
    /// Returns the closure if the pool is full, or has no thread and can't start one.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(2).capacity(100).build()?;
    /// match pool.try_execute(|| println!("in a moment")) {
    ///     Ok(()) => {}
    ///     Err(rejected) => println!("{rejected}: {}", rejected.reason() == brigade::Reason::Full),
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_execute<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        self.handle().try_execute(job)
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
        self.handle().try_submit(job)
    }

    /// Accepts a closure, to be run once, and waits for room for `timeout` at most; see
    /// [`Handle::execute_timeout`](crate::Handle::execute_timeout).
    ///
    /// # Errors
    /// Returns the closure if there was no room within `timeout`, and not earlier, or if the pool has no thread and can't
    /// start one.
    pub fn execute_timeout<F>(&self, job: F, timeout: Duration) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.handle().execute_timeout(job, timeout)
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
        self.handle().submit_timeout(job, timeout)
    }

    /// Accepts a closure, to be run once, as soon as there is room, without blocking a thread; see
    /// [`Handle::execute_async`](crate::Handle::execute_async). The future does not keep the pool alive.
    ///
    /// # Errors
    /// Returns the closure if the pool is shut down, or has no thread and can't start one.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has submitted nothing, and the closure is dropped with it.
    pub fn execute_async<F>(
        &self,
        job: F,
    ) -> impl Future<Output = Result<(), Rejected<F>>> + Send + use<F>
    where
        F: FnOnce() + Send + 'static,
    {
        self.handle().execute_async(job)
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
        self.handle().submit_async(job)
    }

    /// Accepts a closure, to be run once, but not if it is still queued at `deadline`; see
    /// [`Handle::execute_before`](crate::Handle::execute_before).
    ///
    /// # Errors
    /// Returns the closure if the pool is full and its [policy](crate::WhenFull) rejects jobs then, or was full until
    /// `deadline`, or has no thread and can't start one.
    pub fn execute_before<F>(&self, deadline: Instant, job: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.handle().execute_before(deadline, job)
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
        self.handle().submit_before(deadline, job)
    }
}
