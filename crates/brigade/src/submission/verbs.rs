//! Submission by a [`Handle`].

use std::panic::Location;

use super::accept::{accept, accept_elsewhere, submit};
use super::submit_slow;
use crate::engine::{At, CURRENT};
use crate::handle::{Handle, JoinHandle};
use crate::values::{Rejected, WhenFull, expect_accepted, refuse};

impl Handle {
    /// Runs a closure on the pool, once.
    ///
    /// Blocks only if the pool is bounded and [blocks when it is full](crate::WhenFull), the default policy of
    /// bounded pools. May start a thread, according to the pool's [growth](crate::Builder::growth). Does not allocate
    /// if the captures have at most 24 bytes (16 in a bounded pool) and the alignment of a pointer.
    ///
    /// Captures are moved by value through several calls on the way to the queue, and onto the stack of the running
    /// thread. Box captures of 10 kB and more, such as arrays. A few hundred kilobytes (a few tens in a debug build)
    /// may overflow the stack of a worker, which has 2 MiB by default.
    ///
    /// # Panics
    /// If the pool does not accept the closure, because
    /// - it has been closed, shut down or dropped, and the caller is not one of its own jobs;
    /// - it has no thread and can't start one, which is possible only if the core size is 0 or [may time
    ///   out](crate::Builder::allow_core_timeout);
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
    pub fn execute<F: FnOnce() + Send + 'static>(&self, job: F) {
        if let Err(rejected) = self.accept(job, None) {
            refuse(rejected.reason());
        }
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
    pub fn try_execute<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        self.accept(job, Some(WhenFull::Reject))
    }

    #[inline(always)]
    #[track_caller]
    fn accept<F>(&self, job: F, when_full: Option<WhenFull>) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        if !self.key.is_plain() {
            return submit_slow(self.key, job, when_full, None, Location::caller());
        }
        // Not through `reach`: passing `job` on would force it into memory.
        CURRENT.with(|worker| match worker {
            Some(worker) if worker.is_open_to(self.key) => At::Worker(worker).execute(job),
            _ => submit(job, |job| accept_elsewhere(self.key, job)),
        })
    }

    /// Runs a closure on the pool, once, and returns a handle for the outcome. Allocates once. Blocks where
    /// [`execute`](Self::execute) does.
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
    #[doc(alias = "spawn_blocking")]
    #[doc(alias = "evaluate")]
    #[track_caller]
    pub fn submit<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        expect_accepted(self.accept_with_handle(job, None))
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
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.accept_with_handle(job, Some(WhenFull::Reject))
    }

    #[track_caller]
    fn accept_with_handle<F, T>(
        &self,
        work: F,
        when_full: Option<WhenFull>,
    ) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let accepted = match self.key.is_plain() {
            true => submit(work, |job| accept(self.key, job)),
            false => submit_slow(self.key, work, when_full, None, Location::caller()),
        };
        accepted.map(|handle| JoinHandle::new(handle, self.key))
    }
}
