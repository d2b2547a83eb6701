//! Futures on a pool.
//!
//! A future is a job that may be queued many times, and at most once at a time. What runs it is in `brigade_task`, what queues
//! it in the engine; here it comes in.

mod block_on;
#[cfg(any(feature = "futures", feature = "hyper"))]
mod doors;
mod local;
mod yield_now;

use core::any::Any;
use core::future::Future;

use brigade_task::{Home, Job, Ran, Spawned, TaskRef, drop_contained};

use crate::default_pool::here;
use crate::engine::{Admission, CURRENT, Core, Worker, drop_aside};
use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::pool::{Pool, expect_accepted};
use crate::registry;
use crate::rejected::Rejected;
use crate::room::Place;
pub use block_on::block_on;
pub use local::spawn_local;
pub use yield_now::{YieldNow, yield_now};

/// The number of a future that waits where its pool is not.
const NOWHERE: u32 = u32::MAX;

/// The pool that runs a future.
#[derive(Clone, Copy)]
struct Host {
    key: u64,
}

impl Home for Host {
    fn wake(self, job: Job, again: bool) {
        if !registry::is_here(self.key) {
            // In a forked child: who knows in what state it was.
            return core::mem::forget(job);
        }
        let refused = CURRENT.with(|worker| match worker {
            Some(worker) if worker.is_of(self.key) => worker.resume(job, again),
            _ => match registry::with(self.key, job, Core::resume) {
                Ok(result) => result,
                Err(job) => Err(job),
            },
        });
        // Drops the future, which is user code, outside of all that.
        if let Err(job) = refused {
            drop_aside(self.key, job);
        }
    }

    fn waits(self, task: TaskRef) -> u32 {
        // In a forked child: who knows who held the lock. Nobody will wake it there, and it is not to be dropped.
        if !registry::is_here(self.key) {
            core::mem::forget(task);
            return NOWHERE;
        }
        CURRENT.with(|worker| match worker.filter(|worker| worker.is_of(self.key)) {
            Some(worker) => worker.core().tasks.enter(task),
            None => match registry::find(self.key) {
                Some(core) => core.tasks.enter(task),
                // Then nobody has a reference, and it is cancelled.
                None => NOWHERE,
            },
        })
    }

    fn ended(self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        CURRENT.with(|worker| match worker.filter(|worker| worker.is_of(self.key)) {
            Some(worker) => worker.ended(number, ran, unclaimed),
            // If the pool is gone there is nobody to tell.
            None => match registry::find(self.key) {
                Some(core) => core.ended(number, ran, unclaimed),
                None => drop_contained(unclaimed),
            },
        });
    }
}

/// Makes a task of a future; `place` is given back when it is polled for the first time.
fn task_of<F>(core: &Core, future: F, place: Option<Place>) -> Spawned<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Spawned::new(future, place, Host { key: core.key })
}

/// Hands a future to a pool, from one of its workers or from elsewhere.
fn hand_to<F>(
    core: &Core,
    worker: Option<&Worker>,
    future: F,
) -> Result<JoinHandle<F::Output>, Rejected<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let place = match core.room() {
        None => None,
        Some(_) => match core.admit(core.config.when_full, None, worker.is_some()) {
            Admission::Queue(place) => place,
            Admission::Refuse(reason) => return Err(Rejected::new(future, reason)),
            Admission::RunHere => {
                let Spawned { job, handle } = task_of(core, future, None);
                match worker {
                    Some(worker) => {
                        worker.run_here(job);
                        // It may have woken itself, and the job around it go on for long.
                        worker.offer_help();
                    }
                    None => core.poll_here(job),
                }
                return Ok(JoinHandle::new(handle, core.key));
            }
            Admission::Drop => {
                let Spawned { job, handle } = task_of(core, future, None);
                core.drop_for_room(job);
                return Ok(JoinHandle::new(handle, core.key));
            }
        },
    };
    let Spawned { job, handle } = task_of(core, future, place);
    let queued = match worker {
        Some(worker) => worker.submit(job),
        None => core.inject(job),
    };
    match queued {
        Ok(()) => Ok(JoinHandle::new(handle, core.key)),
        Err(job) => match job.into_future() {
            Ok(future) => Err(Rejected::new(future, core.refusal())),
            Err(_) => unreachable!("a rejected job is what it was made of"),
        },
    }
}

impl Handle {
    /// Accepts a future, to be polled on the pool's threads until it is ready, and gives a handle for its outcome. One
    /// allocation, and one more for a future of 2 KiB or more.
    ///
    /// A future is one job, however often it is woken: it is on a queue at most once at a time, and runs on one thread at a
    /// time. One that is woken while it is polled, as by [`yield_now`], goes behind everything else that is queued. While it
    /// waits it takes up no thread; the [counters](Pool::metrics) have it as running then, but
    /// [`wait_idle`](Pool::wait_idle) does not wait for what may never be woken. A poll takes up its thread until it returns:
    /// what blocks in it says so with [`blocking`](crate::blocking), what computes for long calls [`yield_now`].
    ///
    /// [`JoinHandle::cancel`] drops it where it next returns from a poll, or at once if it waits. A pool that is
    /// [drained](crate::Shutdown::Drain) polls its futures as long as anything runs or is woken; those that wait when nothing
    /// does are then dropped, and their handles hear that they were [cancelled](crate::JoinError::Cancelled).
    ///
    /// In a bounded pool a future needs room once, until it is polled for the first time.
    ///
    /// # Errors
    /// Gives the future back for the reasons of [`execute`](Self::execute).
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
        CURRENT.with(|worker| match worker.filter(|worker| worker.is_of(self.key)) {
            Some(worker) => hand_to(worker.core(), Some(worker), future),
            // By a count of our own: code of the user's may run in there, and spawn elsewhere.
            None => match registry::find(self.key) {
                Some(core) => hand_to(&core, None, future),
                None => Err(self.rejected(future)),
            },
        })
    }
}

impl Pool {
    /// Accepts a future, to be polled on the pool's threads until it is ready, and gives a handle for its outcome;
    /// [`Handle::spawn`] says more.
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
