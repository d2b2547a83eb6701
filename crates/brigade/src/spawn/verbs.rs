//! Futures submitted by a [`Handle`], by a [`JobBuilder`] and to reserved room.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::borrow::Cow;
use std::panic::Location;

use brigade_task::Spawnable;
use pin_project_lite::pin_project;

use super::spawn;
use crate::engine::{Permit, label_job};
use crate::handle::{Handle, JoinHandle};
use crate::submission::{Admitted, JobBuilder, Options, Reserved, job_name, watcher_of};
use crate::values::{Rejected, WhenFull, expect_accepted};

pin_project! {
    /// A future with a name, or none.
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
        label_job(this.name.as_ref(), None);
        job_name::set(this.name, || this.future.poll(context))
    }
}

pin_project! {
    /// A spawnable future.
    pub(crate) struct AsFuture<F> {
        #[pin]
        pub(crate) future: F,
    }
}

impl<F: Spawnable> Future for AsFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll_spawned(context)
    }
}

impl Handle {
    /// Runs a future on the pool's threads until it is ready, and returns a handle for the outcome. Allocates once,
    /// or twice for a future of 2 KiB or more and in a bounded pool.
    ///
    /// A future is a single job, however often it is woken: it is queued at most once at a time, and runs on one
    /// thread at a time. If it is woken while it is polled, for example by [`yield_now`](crate::yield_now), it is
    /// queued behind all other queued jobs. A waiting future occupies no thread. The [counters](Self::metrics) count
    /// it as running, but [`wait_idle`](Self::wait_idle) does not wait for it, because it may never be woken. A poll
    /// occupies its thread until it returns: wrap code that blocks in [`blocking`](crate::blocking), and call
    /// [`yield_now`](crate::yield_now) in long computations.
    ///
    /// [`JoinHandle::cancel`] drops the future at its next [operation](crate::time#operations-that-are-always-ready)
    /// or wait. A [drained](crate::Shutdown::Drain) pool polls its futures as long as a closure runs. Then futures
    /// are dropped when they next wait or [yield](crate::yield_now), unless a closure waits for their handles, which
    /// return [`JoinError::Cancelled`](crate::JoinError::Cancelled); [`Shutdown::Finish`](crate::Shutdown::Finish)
    /// waits for them.
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
        F: Spawnable + Send + 'static,
        F::Output: Send + 'static,
    {
        let watcher = watcher_of(self.key, Location::caller(), None, None);
        let admitted = Admitted { when_full: None, deadline: None, class: None };
        expect_accepted(spawn(self.key, AsFuture { future }, admitted, None, watcher))
    }

    /// Runs a future on the pool's threads, and returns a handle for the outcome, or returns the future. Never waits.
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
    #[track_caller]
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let watcher = watcher_of(self.key, Location::caller(), None, None);
        let admitted = Admitted { when_full: Some(WhenFull::Reject), deadline: None, class: None };
        spawn(self.key, future, admitted, None, watcher)
    }
}

impl JobBuilder {
    /// Spawns a future, and returns a handle for the outcome. A deadline applies to the first poll.
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
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_in(None, future)
    }

    /// Spawns a future, in reserved `room` if there is any. A future without a name has the same type as a named one, so
    /// that each future is compiled once.
    #[track_caller]
    fn spawn_in<F>(
        self,
        room: Option<Option<Permit>>,
        future: F,
    ) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Self { key, when_full, options: Options { deadline, name, class } } = self;
        let admitted = Admitted { when_full, deadline, class };
        let watcher = watcher_of(key, Location::caller(), name.as_ref(), class);
        let spawned = spawn(key, Named { future, name }, admitted, room, watcher);
        spawned.map_err(|rejected| rejected.map(|named| named.future))
    }
}

impl Reserved {
    /// Spawns a future, and returns a handle for the outcome; never waits.
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
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> Result<JoinHandle<F::Output>, Rejected<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Self { builder, mut room } = self;
        builder.spawn_in(Some(room.take()), future)
    }
}
