//! Futures on a pool.
//!
//! A future is a job that may be queued many times, and at most once at a time. `brigade_task` runs it, the engine queues it,
//! and this module accepts it.

mod block_on;
#[cfg(any(feature = "executor", feature = "futures", feature = "hyper"))]
mod integrations;
mod local;
mod yield_now;

use core::any::Any;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::borrow::Cow;
use std::time::Instant;

use brigade_task::{Guard, Job, Outcome, Schedule, Spawned, TaskRef, drop_contained};
use pin_project_lite::pin_project;

use crate::config::WhenFull;
use crate::engine::drop_off_pool;
use crate::handle::Handle;
use crate::job_name;
use crate::join::JoinHandle;
use crate::key::Key;
use crate::registry::{At, reach, reach_once};
use crate::rejected::{Rejected, expect_accepted};
use crate::semaphore::Permit;
use crate::submission::{JobBuilder, Options, Reserved, Room, accept, submit_admitted, submit_job};
pub use block_on::block_on;
pub use local::spawn_local;
pub use yield_now::{YieldNow, yield_now};

/// The number of a future whose pool no longer exists, or belongs to another process.
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
                // In a forked child it is never woken, and must not be dropped. Otherwise there is no other reference to it,
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
            // The pool no longer exists.
            At::Gone(_) => drop_contained(unclaimed),
        });
    }
}

/// What is queued with a future until its first poll.
struct FirstPoll {
    /// Released then, by its drop.
    _permit: Option<Permit>,
    /// Boxed, to fit in one word.
    deadline: Option<Box<Instant>>,
}

impl Guard for FirstPoll {
    fn may_start(&self) -> bool {
        self.deadline.as_ref().is_none_or(|at| Instant::now() < **at)
    }
}

/// Submits a future to the pool with this key, with the pool's policy or another one.
fn spawn<F>(
    key: Key,
    future: F,
    when_full: Option<WhenFull>,
    deadline: Option<Instant>,
) -> Result<JoinHandle<F::Output>, Rejected<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let make = |permit, future| make_future(key, future, permit, deadline);
    let spawned = match key.is_bounded() {
        true => submit_admitted(key, when_full, deadline, future, make, future_of),
        false => submit_job(make(None, future), |job| accept(key, job), future_of),
    };
    spawned.map(|handle| JoinHandle::new(handle, key))
}

/// Makes a job of a future that has a permit, or needs none.
pub(crate) fn make_future<F>(
    key: Key,
    future: F,
    permit: Option<Permit>,
    deadline: Option<Instant>,
) -> (Job, brigade_task::JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let first = FirstPoll { _permit: permit, deadline: deadline.map(Box::new) };
    let Spawned { job, handle } = Spawned::new(future, first, OnPool(key));
    (job, handle)
}

/// Queues a future that has a permit, or needs none.
pub(crate) fn queue_future<F>(
    at: At<'_>,
    future: F,
    permit: Option<Permit>,
    deadline: Option<Instant>,
) -> Result<brigade_task::JoinHandle<F::Output>, Rejected<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let Some(core) = at.core() else { return Err(at.rejected(future)) };
    let made = make_future(core.key, future, permit, deadline);
    submit_job(made, |job| at.accept_or_reject(job), future_of)
}

/// The future that a rejected job was made from.
fn future_of<F: Future + 'static>(job: Job) -> F {
    match job.into_future() {
        Ok(future) => future,
        Err(_) => unreachable!("a rejected job is what it was made of"),
    }
}

pin_project! {
    /// A future with a name.
    struct Named<F> {
        #[pin]
        future: F,
        name: Option<Cow<'static, str>>,
    }
}

impl<F: Future> Future for Named<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        job_name::set(this.name, || this.future.poll(context))
    }
}

impl Handle {
    /// Runs a future on the pool's threads until it is ready, and returns a handle for its outcome. One allocation, two for a
    /// future of 2 KiB or more.
    ///
    /// A future is one job, however often it is woken: it is queued at most once at a time, and runs on one thread at a time.
    /// If it is woken while it is polled, for example by [`yield_now`], it is queued behind all other queued jobs. While it
    /// waits it occupies no thread. The [counters](Self::metrics) then count it as running, but [`wait_idle`](Self::wait_idle)
    /// does not wait for it, as it may never be woken. A poll occupies its thread until it returns: wrap code that blocks in
    /// [`blocking`](crate::blocking), and call [`yield_now`] in long computations.
    ///
    /// [`JoinHandle::cancel`] drops it when its current poll returns, or at once if it waits. A pool that is
    /// [drained](crate::Shutdown::Drain) polls its futures as long as anything runs or is woken. Those that are still pending
    /// after that are dropped, and their handles return [`JoinError::Cancelled`](crate::JoinError::Cancelled);
    /// [`Shutdown::Finish`](crate::Shutdown::Finish) waits for them.
    ///
    /// In a bounded pool a future counts as queued only until it is polled for the first time.
    ///
    /// # Panics
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let first = pool.spawn(async { 40 });
    /// let both = pool.spawn(async { Ok::<_, brigade::JoinError>(first.await? + 2) });
    /// assert_eq!(both.join()??, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        expect_accepted(spawn(self.key, future, None, None))
    }

    /// Runs a future on the pool's threads, and returns a handle for its outcome, or returns the future; never waits.
    ///
    /// To wait for room without blocking a thread, [reserve](crate::JobBuilder::reserve) the room first.
    ///
    /// # Errors
    /// As for [`try_execute`](Self::try_execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).capacity(100).build()?;
    /// assert_eq!(pool.try_spawn(async { 42 })?.join()?, 42);
    /// pool.close();
    /// let rejected = pool.try_spawn(async { 42 }).unwrap_err();
    /// assert_eq!(brigade::block_on(rejected.into_inner()), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn(self.key, future, Some(WhenFull::Reject), None)
    }
}

impl JobBuilder {
    /// Spawns a future, and returns a handle for its outcome. A deadline applies to its first poll.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let name = pool.job().name("answer").spawn(async { brigade::current_job_name() })?;
    /// assert_eq!(name.join()?.as_deref(), Some("answer"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawn<F>(self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (key, when_full, Options { deadline, name }) = self.into_parts();
        match name {
            None => spawn(key, future, when_full, deadline),
            name => spawn(key, Named { future, name }, when_full, deadline)
                .map_err(|rejected| rejected.map(|named| named.future)),
        }
    }
}

impl Reserved {
    /// Spawns a future, and returns a handle for its outcome; never waits.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).capacity(1).build()?;
    /// let answer = brigade::block_on(async {
    ///     let room = pool.job().reserve().await?;
    ///     room.spawn(async { 42 })?.await.map_err(std::io::Error::from)
    /// })?;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawn<F>(self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (builder, permit) = match self.into_parts() {
            (builder, Room::Queue(permit)) => (builder, permit),
            // A future occupies no thread while it waits for its first poll, but it is queued.
            (builder, Room::OnWorker) => {
                return builder.when_full(WhenFull::RunInCaller).spawn(future);
            }
        };
        let (key, _, Options { deadline, name }) = builder.into_parts();
        let queued = reach_once(key, |at| match name {
            None => queue_future(at, future, permit, deadline),
            name => queue_future(at, Named { future, name }, permit, deadline)
                .map_err(|rejected| rejected.map(|named| named.future)),
        });
        queued.map(|handle| JoinHandle::new(handle, key))
    }
}
