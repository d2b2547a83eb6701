//! Futures submitted by a [`Handle`], by a [`JobBuilder`] and to reserved room.

use core::future::Future;
use std::panic::Location;

use brigade_task::{Spawnable, is_large};

use super::make_future;
use super::named::AsFuture;
use super::watched::{Boxed, Watched};
use crate::engine::Permit;
use crate::handle::{Handle, JoinHandle};
use crate::submission::{
    Admitted, JobBuilder, Options, Reserved, accept, inherits, submit_admitted, submit_job,
    watcher_of,
};
use crate::values::{Rejected, WhenFull, expect_accepted};

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
    /// # Large futures
    /// A future of 2 KiB or more is moved once, from the caller's stack to the heap. An optimized build has one copy of
    /// it on the stack, and a second one for a verb that may return the future, and for a
    /// [`timeout`](crate::time::timeout). A build without optimization has 3 to 5 copies. The stack of a worker has
    /// [2 MiB](crate::Builder::stack_size) by default: use [`Box::pin`] to make a future of some hundred kilobytes.
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
        expect_accepted(self.job().spawn_in(None, Location::caller(), future))
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
        let job = self.job().when_full(WhenFull::Reject);
        job.spawn_in(None, Location::caller(), future).or_else(Boxed::unbox)
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
        self.spawn_in(None, Location::caller(), future).or_else(Boxed::unbox)
    }

    /// Spawns a future, in reserved `room` if there is any: with a permit, or beyond the capacity.
    ///
    /// # Errors
    /// Returns the future in a box, which [`Boxed::unbox`] opens.
    fn spawn_in<F>(
        self,
        room: Option<Option<Permit>>,
        place: &'static Location<'static>,
        future: F,
    ) -> Result<JoinHandle<F::Output>, Rejected<Boxed<F::Output>>>
    where
        F: Spawnable + Send + 'static,
        F::Output: Send + 'static,
    {
        // Taken apart before any call: a spawn without settings has nothing to drop then.
        let Self { key, when_full, options: Options { deadline, carried, class } } = self;
        let is_bare = key.is_plain() && !inherits(key) && !matches!(room, Some(Some(_)));
        if const { is_large::<F>() } || !is_bare || !carried.is_empty() {
            let options = Options { deadline, carried, class };
            let job = Self { key, when_full, options };
            return job.spawn_boxed(room, place, Boxed::New(Box::new(future)));
        }
        // Before the calls that may unwind: neither holds anything.
        drop(carried);
        drop(room);
        let made = make_future(key, (), AsFuture { future }, None, deadline);
        let back = AsFuture::<F>::of_job;
        submit_job(made, |job| accept(key, class, job), back)
            .map(|handle| JoinHandle::new(handle, key))
    }

    #[cold]
    #[inline(never)]
    fn spawn_boxed<T: Send + 'static>(
        self,
        room: Option<Option<Permit>>,
        place: &'static Location<'static>,
        future: Boxed<T>,
    ) -> Result<JoinHandle<T>, Rejected<Boxed<T>>> {
        let Self { key, when_full, options: Options { deadline, carried, class } } = self;
        let watcher = watcher_of(key, place, carried.name.as_ref(), class);
        let admitted = Admitted { when_full, deadline, class };
        let make = |permit, future| {
            let future = Watched::new(watcher, carried, future);
            make_future(key, (), future, permit, deadline)
        };
        // A plain pool always has room.
        let spawned = match room.or(key.is_plain().then_some(None)) {
            Some(permit) => {
                submit_job(make(permit, future), |job| accept(key, class, job), Watched::unmade)
            }
            None => submit_admitted(key, admitted, future, make, Watched::unmade),
        };
        spawned.map(|handle| JoinHandle::new(handle, key))
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
        let spawned = builder.spawn_in(Some(room.take()), Location::caller(), future);
        spawned.or_else(Boxed::unbox)
    }
}
