//! Futures on a pool.
//!
//! A future is a job that may be queued many times, and at most once at a time. `brigade_task` runs it, the engine queues it,
//! and this module accepts it.

mod block_on;
#[cfg(any(feature = "futures", feature = "hyper"))]
mod integrations;
mod local;
mod yield_now;

use core::any::Any;
use core::future::Future;

use brigade_task::{Job, Outcome, Schedule, Spawned, TaskRef, drop_contained};

use crate::default_pool::here;
use crate::engine::{Admission, drop_off_pool};
use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::key::Key;
use crate::pool::{Pool, expect_accepted};
use crate::registry::{At, reach};
use crate::rejected::Rejected;
pub use block_on::block_on;
pub use local::spawn_local;
pub use yield_now::{YieldNow, yield_now};

/// The number of a future whose pool is gone, or in another process.
const NOWHERE: u32 = u32::MAX;

/// The scheduler of a future: its pool.
#[derive(Clone, Copy)]
struct OnPool(Key);

impl Schedule for OnPool {
    fn schedule(self, job: Job, yielded: bool) {
        let Self(key) = self;
        if !key.is_here() {
            // In a forked child: it may have been in any state at the fork.
            return core::mem::forget(job);
        }
        let refused = reach(key, |at| match at {
            At::Worker(worker) => worker.resume(job, yielded),
            At::Outside(core) => core.resume(job),
            At::Gone(_) => Err(job),
        });
        // Drops the future, which is user code, outside of `reach`.
        if let Err(job) = refused {
            drop_off_pool(key, job);
        }
    }

    fn bind(self, task: TaskRef) -> u32 {
        reach(self.0, |at| match at.core() {
            Some(core) => core.bind(task),
            None => {
                // In a forked child it is never woken, and must not be dropped. Elsewhere there is no other reference to it,
                // and it is cancelled.
                if !self.0.is_here() {
                    core::mem::forget(task);
                }
                NOWHERE
            }
        })
    }

    fn release(self, number: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        reach(self.0, |at| match at {
            At::Worker(worker) => worker.release(number, outcome, unclaimed),
            At::Outside(core) => core.release(number, outcome, unclaimed),
            // There is no pool any more.
            At::Gone(_) => drop_contained(unclaimed),
        });
    }
}

/// Hands a future to a pool.
fn spawn_at<F>(at: At<'_>, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let Some(core) = at.core() else { return Err(at.rejected(future)) };
    let (permit, unqueued) = match at.admit(core, core.config.when_full, None) {
        Admission::Queue(permit) => (permit, None),
        Admission::Unqueued(how) => (None, Some(how)),
        Admission::Refuse(reason) => return Err(Rejected::new(future, reason)),
    };
    // The permit is given back when it is polled for the first time.
    let Spawned { job, handle } = Spawned::new(future, permit, OnPool(core.key));
    if let Some(how) = unqueued {
        at.settle(core, how, job);
        // It may have woken itself, and the job around it may take long.
        core.offer_help();
    } else if let Err(job) = at.accept(job) {
        return match job.into_future() {
            Ok(future) => Err(at.rejected(future)),
            Err(_) => unreachable!("a rejected job is what it was made of"),
        };
    }
    Ok(JoinHandle::new(handle, core.key))
}

impl Handle {
    /// Accepts a future, to be polled on the pool's threads until it is ready, and gives a handle for its outcome. One
    /// allocation, and one more for a future of 2 KiB or more.
    ///
    /// A future is one job, however often it is woken: it is on a queue at most once at a time, and runs on one thread at a
    /// time. If it is woken while it is polled, as by [`yield_now`], it is queued behind all other queued jobs. While it
    /// waits it occupies no thread. The [counters](Pool::metrics) count it as running then, but
    /// [`wait_idle`](Pool::wait_idle) does not wait for it, as it may never be woken. A poll occupies its thread until it
    /// returns: wrap code that blocks in [`blocking`](crate::blocking), and call [`yield_now`] in long computations.
    ///
    /// [`JoinHandle::cancel`] drops it when its current poll returns, or at once if it waits. A pool that is
    /// [drained](crate::Shutdown::Drain) polls its futures as long as anything runs or is woken. When nothing is any more,
    /// those that still wait are dropped, and their handles return [`JoinError::Cancelled`](crate::JoinError::Cancelled).
    ///
    /// In a bounded pool a future counts as queued only until it is polled for the first time.
    ///
    /// # Errors
    /// Returns the future for the reasons of [`execute`](Self::execute).
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let handle = pool.handle();
    /// let sum = handle.spawn(async move {
    ///     let child = handle.spawn(async { 20 }).expect("the pool polls this, so it is there");
    ///     child.await.unwrap() + 22
    /// })?;
    /// assert_eq!(sum.join().unwrap(), 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        reach(self.key, |at| spawn_at(at, future))
    }
}

impl Pool {
    /// Accepts a future, to be polled on the pool's threads until it is ready, and gives a handle for its outcome; see
    /// [`Handle::spawn`].
    ///
    /// # Panics
    /// As [`execute`](Self::execute).
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let first = pool.spawn(async { 40 });
    /// let both = pool.spawn(async { first.await.unwrap() + 2 });
    /// assert_eq!(both.join()?, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        expect_accepted(self.handle().spawn(future))
    }
}

/// Spawns a future on the pool of the worker that this is called on, elsewhere on the
/// [`default_pool`](crate::default_pool).
///
/// # Errors
/// As for [`submit`](crate::submit).
///
/// ```
/// let answer = brigade::spawn(async {
///     // On a worker by now: the child goes to the same pool.
///     brigade::spawn(async { 6 * 7 }).unwrap().await.unwrap()
/// })?;
/// assert_eq!(brigade::block_on(answer).unwrap(), 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn spawn<F>(future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    here().spawn(future)
}
