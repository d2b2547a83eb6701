//! The owner of a pool, the default pool, and the functions that use the current pool. This module must not know
//! futures, scopes and timers.

mod blocking;
mod builder;
mod default_pool;
mod free;

use core::ops::Deref;
use std::sync::Arc;

use brigade_task::Callable;

use crate::engine::Shared;
use crate::handle::{Handle, JoinHandle, end};
use crate::submission::submit as submit_to;
use crate::values::{Rejected, WhenFull, expect_accepted, opaque};

pub use blocking::blocking;
pub use builder::{Builder, ThreadName};
#[cfg(brigade_seeded)]
pub(crate) use default_pool::drain_default_pool;
pub(crate) use default_pool::here;
pub use default_pool::{default_pool, set_default_pool};
pub use free::{
    current_priority, current_worker, current_worker_index, execute, job, spawn, submit,
    try_execute, try_execute_locally, try_spawn, try_submit,
};

/// A pool of threads that runs closures and futures. This value is its only owner.
///
/// It dereferences to its [`Handle`], whose methods submit jobs, wait for them, and manage the pool:
///
/// | to | use |
/// |---|---|
/// | run a closure | [`execute`](Self::execute), [`submit`](Self::submit) for its outcome |
/// | run a future | [`spawn`](Handle::spawn), [`block_on`](Handle::block_on) on this thread |
/// | get a rejected job back | [`try_execute`](Self::try_execute), [`try_submit`](Handle::try_submit), [`try_spawn`](Handle::try_spawn) |
/// | set a deadline, a name, a time; submit many | [`job`](Handle::job) |
/// | run code that borrows | [`install`](Handle::install), [`scope`](Handle::scope) |
/// | run a closure on each thread | [`broadcast`](Handle::broadcast) |
/// | wait until all jobs have ended | [`wait_idle`](Handle::wait_idle) |
/// | read its counters, change its size | [`metrics`](Handle::metrics), [`size`](Handle::size), [`resize`](Handle::resize), [`prestart`](Handle::prestart) |
/// | end it | drop it, or [`shutdown`](Handle::shutdown), [`close`](Handle::close) |
///
/// As long as the pool is open, submitting can't fail, with two exceptions: a pool with a
/// [capacity](crate::Builder::capacity), and a pool that [may have no thread](crate::Builder::keep_alive) at
/// all.
///
/// `Pool` is not `Clone`: `pool.clone()` returns a `Handle`, which does not keep the pool alive.
///
/// Dropping the pool ends it: it rejects new work from outside, runs all accepted work, and joins its threads.
/// Futures are polled until they next wait or [yield](crate::yield_now) once no closure is left, unless a closure waits
/// for their handles, and are then cancelled, as are timers that are not due:
/// [`Shutdown::Drain`](crate::Shutdown::Drain). [`Builder::on_drop`](crate::Builder::on_drop) sets a different end. A pool dropped by a worker of this
/// pool is closed, and its threads finish the accepted work without being joined. After a
/// [shutdown](Handle::shutdown) whose timeout elapsed, the drop does not wait again.
///
/// On Windows the destructor of a thread-local must not drop a pool, nor wait for a job or a timer: the wait does not end. The system
/// runs such destructors under a lock that threads take when they start and end, so [`std::thread::LocalKey`] forbids joins there as well.
/// `close` does not wait, and a shutdown with a timeout returns.
///
/// ```
/// let pool = brigade::Pool::new(4);
/// let six = pool.submit(|| 6);
/// let answer = pool.spawn(async { six.await.map(|six| six * 7) });
/// assert_eq!(answer.join()??, 42);
///
/// pool.execute(|| println!("fire and forget"));
/// drop(pool); // Waits for the job.
/// # Ok::<(), brigade::JoinError>(())
/// ```
///
/// # Forks
/// In the child of a fork the pool's threads don't exist. Every call returns at once: a submission panics, or
/// returns the closure with [`Reason::Forked`](crate::Reason::Forked); a wait does not block; counters are 0. The
/// [`JoinHandle`](crate::JoinHandle) of an unfinished job reports it as cancelled, and dropping the pool leaks it. A
/// job that forks must call `exec` or `_exit` in the child: if it returns there, the child is aborted with a
/// message.
///
/// The child has its own [default pool](crate::default_pool), so free functions work in it, unless it was forked by a job or inside
/// [`enter`](Handle::enter).
///
/// A pool created in the child works like any other, if the standard library can start threads there. As of Rust
/// 1.95, the standard library briefly holds a lock whenever a thread of the process starts or ends. A child forked
/// at such a moment waits for this lock forever.
///
/// Only children created by the C library's `fork` are detected, and only once the process has created a pool.
#[doc(alias = "ThreadPool")]
#[doc(alias = "Runtime")]
pub struct Pool {
    shared: Arc<Shared>,
    handle: Handle,
}

impl Pool {
    /// Returns a handle to the pool, to submit from anywhere.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let handle = pool.handle();
    /// let sum = pool.submit(move || handle.submit(|| 40).join().map(|part| part + 2));
    /// assert_eq!(sum.join()??, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Runs a closure on the pool, once; see [`Handle::execute`]. Unlike a handle, the owner does not look the pool
    /// up, which saves a third of the time of a submission from outside.
    ///
    /// # Panics
    /// As for [`Handle::execute`].
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RAN: AtomicU32 = AtomicU32::new(0);
    /// let pool = brigade::Pool::new(4);
    /// for _ in 0..1000 {
    ///     pool.execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
    /// }
    /// drop(pool);
    /// assert_eq!(RAN.load(Ordering::Relaxed), 1000);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn execute<F: Callable + Send + 'static>(&self, job: F) {
        expect_accepted(submit_to::<_, ()>(&self.shared, job, None));
    }

    /// Runs a closure on the pool, once, or returns it; see [`Handle::try_execute`]. Like
    /// [`execute`](Self::execute), this does not look the pool up.
    ///
    /// # Errors
    /// As for [`Handle::try_execute`].
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// pool.try_execute(|| println!("on the pool"))?;
    /// pool.close();
    /// let rejected = pool.try_execute(|| println!("here")).unwrap_err();
    /// assert_eq!(rejected.reason(), brigade::Reason::Closed);
    /// rejected.into_inner()();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_execute<F: Callable + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        submit_to(&self.shared, job, Some(WhenFull::Reject))
    }

    /// Whether the pool may have no thread at some time.
    #[inline]
    fn may_be_empty(&self) -> bool {
        self.shared.idle.may_be_empty()
    }

    /// Whether the pool has a thread, or does not need one; starts one if possible.
    fn has_thread(&self) -> bool {
        !self.may_be_empty() || self.shared.is_closed() || self.shared.can_run()
    }

    /// Runs a closure on the pool, once, and returns a handle for its outcome; see [`Handle::submit`].
    ///
    /// # Panics
    /// As for [`Handle::execute`].
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// assert_eq!(pool.submit(|| 6 * 7).join()?, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn submit<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        JoinHandle::new(expect_accepted(submit_to(&self.shared, job, None)), self.shared.key)
    }

    // Of tokio's name rustc alone says nothing.
    #[doc(hidden)]
    #[deprecated(note = "here this is `submit`")]
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        self.submit(job)
    }
}

impl Deref for Pool {
    type Target = Handle;

    #[inline(always)]
    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl From<&Pool> for Handle {
    fn from(pool: &Pool) -> Self {
        pool.handle
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.shared.key.is_here() {
            // The work of the parent's threads must not be dropped here.
            core::mem::forget(Arc::clone(&self.shared));
        } else if !self.shared.threads.is_detached() {
            end(&self.shared, self.shared.config.on_drop);
        }
    }
}

opaque!(Pool: size);
