//! Waiting for room in a bounded pool without blocking a thread.

use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Context, Poll, ready};
use std::panic::Location;

use brigade_sync::awaited::{Awaited, note};
use brigade_sync::budget::{self, Turn};
use brigade_task::Callable;

use super::accept::{accept, submit_job};
use super::boxed::{make_job, returned, unmade};
use super::watcher::watcher_of;
use super::{Admitted, JobBuilder, Receipt};
use crate::engine::{Admission, At, Key, Permit, Room, Waiter, find, reach, with_worker};
use crate::handle::JoinHandle;
use crate::handle::awaited::polling_thread;
use crate::values::{Reason, Rejected, WhenFull};

impl JobBuilder {
    /// Returns a future that waits until the pool has room for one job, under any policy, and reserves that room.
    ///
    /// A pool without a capacity always has room. The future does nothing until it is polled. On a worker of the same
    /// pool, which must not wait for itself, it is ready at once: if the pool is full, the room is [beyond its
    /// capacity](crate::Builder::capacity). Other submissions may wait behind this future: once woken it must be
    /// polled, or dropped, which passes the wake-up on.
    ///
    /// # Errors
    /// The [`Reason`] why the pool accepts no jobs, never [`Reason::Full`]. If the pool is closed in the meantime,
    /// the future fails at once.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, nothing has been reserved.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).capacity(1).build()?;
    /// let handle = pool.handle();
    /// brigade::block_on(async {
    ///     for _ in 0..100 {
    ///         handle.job().reserve().await?.execute(|| ())?;
    ///     }
    ///     std::io::Result::Ok(())
    /// })?;
    /// assert_eq!(pool.shutdown(brigade::Shutdown::Drain).ran, 100);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn reserve(self) -> impl Future<Output = Result<Reserved, Reason>> + Send + use<> {
        let mut builder = Some(self);
        let (mut waiter, turn) = (None, Turn::default());
        poll_fn(move |context| {
            let key = builder.as_ref().expect("polled after it was ready").key;
            ready!(turn.poll_begin(context));
            reserve_or_wait(key, &mut waiter, context).map(|room| {
                budget::count();
                let Some(builder) = builder.take() else { unreachable!("it is there") };
                room.map(|permit| Reserved { builder, room: Room::new(permit) })
            })
        })
    }
}

/// Tries to reserve. If the pool is full, leaves a waiter, and the caller will be woken. Returns no permit for room
/// beyond the capacity, or if the pool is not bounded.
fn reserve_or_wait(
    key: Key,
    waiter: &mut Option<Waiter>,
    context: &Context<'_>,
) -> Poll<Result<Option<Permit>, Reason>> {
    // A worker must not wait for itself, nor must a future on it.
    let on_own_worker = with_worker(|own| own.is_some_and(|own| own.is_of(key)));
    if on_own_worker {
        // The job needs no permit, so its run must not delay the next waiter.
        *waiter = None;
    }
    let mut is_registered = false;
    loop {
        let mut room = Err(Reason::Closed);
        reach(key, &mut |at| room = try_reserve(at));
        match room {
            Err(Reason::Full) if on_own_worker => return Poll::Ready(Ok(None)),
            Err(Reason::Full) if is_registered => {
                note(|| Awaited::Room);
                return Poll::Pending;
            }
            Err(Reason::Full) => {}
            room => {
                // Dropping the waiter passes its place to the next waiter.
                *waiter = None;
                return Poll::Ready(room);
            }
        }
        if waiter.is_none() {
            let permits = find(key).ok().and_then(|shared| shared.permits.clone());
            *waiter = permits.map(Waiter::new);
        }
        if let Some(waiter) = waiter {
            // A thread that waits may run jobs that wait for a permit, too.
            waiter.register(context.waker(), polling_thread().map(|thread| thread as _));
            is_registered = true;
        }
        // Otherwise the pool no longer exists, and the next attempt reports that.
    }
}

fn try_reserve(at: At<'_>) -> Result<Option<Permit>, Reason> {
    let submission = Admitted { when_full: Some(WhenFull::Reject), deadline: None, class: None };
    let admission = at.admit(submission);
    let is_closed = at.shared().is_some_and(|shared| shared.is_closed()) && at.worker().is_none();
    match admission {
        Admission::Refuse(reason) => Err(reason),
        _ if is_closed => Err(Reason::Closed),
        Admission::Queue(permit) => Ok(permit),
        Admission::Replace(..) | Admission::Unqueued(_) => {
            unreachable!("`Reject` queues a job or refuses it")
        }
    }
}

/// Room for one job in a pool, from [`JobBuilder::reserve`]. Dropping it releases the room.
///
/// It does not keep the pool alive: if the pool is closed in the meantime, the job is returned.
///
/// ```
/// let pool = brigade::Pool::builder().threads(1).capacity(1).build()?;
/// let room = brigade::block_on(pool.job().reserve())?;
/// assert!(pool.try_execute(|| ()).is_err(), "the room is taken");
/// assert_eq!(room.submit(|| 42)?.join()?, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "dropping it gives the room back"]
pub struct Reserved {
    pub(crate) builder: JobBuilder,
    /// Without a permit beyond the capacity, or in a pool that is not bounded.
    pub(crate) room: Room,
}

impl Reserved {
    /// Submits a closure, to be run once; never waits.
    ///
    /// # Errors
    /// Returns the closure if the pool has been closed in the meantime, or has no thread and can't start one.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// brigade::block_on(pool.job().reserve())?.execute(|| ())?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn execute<F: Callable + Send + 'static>(self, job: F) -> Result<(), Rejected<F>> {
        self.submit_job(job, Location::caller())
    }

    /// Submits a closure, to be run once, and returns a handle for the outcome; never waits.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let answer = brigade::block_on(pool.job().reserve())?.submit(|| 42)?;
    /// assert_eq!(answer.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn submit<F, T>(self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        let key = self.builder.key;
        self.submit_job(job, Location::caller()).map(|handle| JoinHandle::new(handle, key))
    }

    fn submit_job<F, R: Receipt>(
        self,
        work: F,
        place: &'static Location<'static>,
    ) -> Result<R, Rejected<F>>
    where
        F: FnOnce() -> R::Output + Send + 'static,
    {
        let Self { builder: JobBuilder { key, options, .. }, mut room } = self;
        let class = options.class;
        let watcher = watcher_of(key, place, options.carried.name.as_ref(), class);
        let made = make_job(watcher, room.take(), options, None, Box::new(work));
        submit_job(made, |job| accept(key, class, job), unmade::<R::Output>).or_else(returned)
    }
}

impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reserved").field(&self.builder).finish()
    }
}
