//! A future as a job: polled each time it has been woken, with the same handle as a closure.
//!
//! One allocation, the [`Task`](task::Task): the header known to a [`JoinHandle`], the scheduler, and the future or the
//! result in the same place. So a future has the handle of a closure, which waits on the same state and is covered by the
//! same models. Two atomics hold the rest: [`state`](crate::cell::state) the handle's side, and
//! [`lifecycle`](crate::cell::lifecycle) the access to the future and the reason why no wake is lost.
//!
//! **Access rule.** The future is queued and has a job, or there is one running guard, or the future is idle or has ended;
//! the lifecycle tells which. The guard polls the future, ends it, or makes a job again; a wake of an idle future makes
//! a job. A job turns into the guard, unless the handle has [claimed](crate::cell::lifecycle) the future: then the job is stale. A thread
//! must not touch the task after publishing a job, except by a reference of its own.
//!
//! **Stage rule.** The stage holds the future until the future is dropped at its end. Until then it belongs to the
//! holder of the access, which writes the result over it before `DONE` is set. Then it belongs to the owner of the
//! result, which takes it out once; the state tells which side owns it. **Pin rule.** A future is not moved once it has
//! been polled, and is dropped in place.
//!
//! **Life rule.** The task lives until both sides have released it. The handle releases its own side. The job's side
//! is released with the last of the references, of the job and of the wakers, which the lifecycle counts. Only an ended
//! future loses its last reference; an idle future is ended first. So an idle future is dropped by the scheduler, never by
//! a thread that drops a waker.
//!
//! To cancel a future, the handle requests a stop, then wakes it, for which it needs no waker. The wake changes the lifecycle, so if
//! a poll did not see the request, another poll follows. An unpolled future is dropped by the caller instead, which
//! [claims](crate::cell::lifecycle) it like a closure: the job is stale, and a queue may drop it early.
//!
//! User code (polls, and drops of futures, guards, outputs and wakers) runs under no lock, and panics are contained.
//!
//! Rejected: [`async-task`](https://docs.rs/async-task). It takes 144 bytes and the future where this takes 48, its schedule
//! function needs each future from the start, and it has no models of its internals.

mod local;
mod poll;
mod schedule;
mod task;
mod waker;

use core::any::TypeId;
use core::future::Future;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::act::{Action, Outcome, Payload, TakeRequest};
use crate::cell::Header;
use crate::cell::state::State;
use crate::job::Job;
use crate::join::{JobHandle, JoinHandle};
use local::Local;
use poll::{Resumption, Turn, is_fresh, resumption};
pub use schedule::{Guard, Schedule, Woken};
pub use waker::TaskRef;

/// A future as a job, and the handle for the result.
pub struct Spawned<T> {
    /// The job of the first poll.
    pub job: Job,
    /// The handle for the result.
    pub handle: JoinHandle<T>,
}

impl<T: Send + 'static> Spawned<T> {
    /// Makes a job of a future.
    ///
    /// `guard`, of two words at most, is stored in the job. It is dropped just before the first poll, or with the job. If it
    /// [denies](Guard::may_start) the start then, the future is cancelled. There is one allocation, which lives as long as the
    /// handle: box a [large](crate::is_large) future first.
    ///
    /// ```
    /// use brigade_task::{Job, Outcome, Schedule, Spawned, TaskRef, Woken};
    /// use std::sync::{Mutex, PoisonError};
    /// static WOKEN: Mutex<Vec<Job>> = Mutex::new(Vec::new());
    /// #[derive(Clone, Copy)]
    /// struct Queue;
    /// impl Schedule for Queue {
    ///     fn schedule(self, job: Job, _: Woken, _: u8) {
    ///         WOKEN.lock().unwrap_or_else(PoisonError::into_inner).push(job);
    ///     }
    ///     fn bind(self, _: TaskRef) -> u32 {
    ///         unreachable!("it has been woken each time")
    ///     }
    ///     fn release(self, _: u32, outcome: Outcome, _: Option<Box<dyn std::any::Any + Send>>) {
    ///         assert_eq!(outcome, Outcome::Returned);
    ///     }
    /// }
    /// let mut left = 1;
    /// let future = std::future::poll_fn(move |context| {
    ///     context.waker().wake_by_ref();
    ///     left -= 1;
    ///     if left < 0 { std::task::Poll::Ready(42) } else { std::task::Poll::Pending }
    /// });
    /// let Spawned { job, mut handle, .. } = Spawned::new(future, (), Queue);
    /// job.run();
    /// assert!(handle.try_join().is_none(), "it is pending, and has been woken");
    /// let again = WOKEN.lock().unwrap_or_else(PoisonError::into_inner).pop();
    /// assert_eq!(again.map(Job::run), Some(Outcome::Polled));
    /// assert_eq!(handle.join()?, 42);
    /// # Ok::<(), brigade_task::JoinError>(())
    /// ```
    pub fn new<F, G, E>(future: F, guard: G, scheduler: E) -> Self
    where
        F: Future<Output = T> + Send + 'static,
        G: Guard + Send,
        E: Schedule,
    {
        // SAFETY: future, guard, output and scheduler are `Send`.
        unsafe { Self::new_unchecked(future, guard, scheduler) }
    }
}

impl<T: 'static> Spawned<T> {
    /// Makes a job of a future that need not be `Send`.
    ///
    /// The scheduler must run or drop the job on this thread, whichever thread wakes it, and [tell](Schedule::is_here) this
    /// thread from others. On another thread the future is not polled but panics, and is not dropped but leaked.
    ///
    /// ```
    /// use brigade_task::{Job, Outcome, Schedule, Spawned, TaskRef, Woken};
    /// use std::rc::Rc;
    /// #[derive(Clone, Copy)]
    /// struct Never;
    /// impl Schedule for Never {
    ///     fn schedule(self, _: Job, _: Woken, _: u8) {}
    ///     fn bind(self, _: TaskRef) -> u32 {
    ///         unreachable!("it is ready at once")
    ///     }
    ///     fn release(self, _: u32, _: Outcome, _: Option<Box<dyn std::any::Any + Send>>) {}
    /// }
    /// let here = Rc::new(42);
    /// let Spawned { job, handle, .. } = Spawned::local(async { here }, Never);
    /// job.run();
    /// assert_eq!(*handle.join()?, 42);
    /// # Ok::<(), brigade_task::JoinError>(())
    /// ```
    pub fn local<F, E>(future: F, scheduler: E) -> Self
    where
        F: Future<Output = T> + 'static,
        E: Schedule,
    {
        // SAFETY: only this thread touches the future (Thread rule of `local`). So the output is created here, and the
        // handle is as little `Send` as the output.
        unsafe { Self::new_unchecked(Local::new(future), (), scheduler) }
    }

    /// # Safety
    /// The future and the guard must be `Send`, or ensure that only one thread touches them. The same goes for the output,
    /// which is touched on the thread of the poll and on the handle's.
    unsafe fn new_unchecked<F, G, E>(future: F, guard: G, scheduler: E) -> Self
    where
        F: Future<Output = T> + 'static,
        G: Guard,
        E: Schedule,
    {
        let (job, task) = first_poll(future, guard, scheduler);
        // SAFETY: the task is one for results of type `T`, and has no other handle.
        Self { job, handle: unsafe { JoinHandle::from_raw(task) } }
    }
}

/// Allocates a future, and makes the job of the first poll.
fn first_poll<F: Future + 'static, G: Guard, E: Schedule>(
    future: F,
    guard: G,
    scheduler: E,
) -> (Job, NonNull<Header>) {
    const {
        assert!(size_of::<Turn<G>>() <= size_of::<Payload>(), "a guard has two words at most");
        assert!(align_of::<Turn<G>>() <= align_of::<Payload>(), "a guard is aligned as words are");
    }
    let state = State::of_future(guard.holds(), guard.decides());
    let task = poll::allocate(future, scheduler, state);
    // SAFETY: it fits, as asserted above, and `act` is the function of such a job.
    (unsafe { Job::from_raw(poll::act::<G>, Turn { task, guard }) }, task)
}

impl Job {
    /// Changes the [class](JobHandle::class) of a job, and returns a further job to be queued by it if the job is queued. The former job
    /// becomes [stale](Outcome::Stale) when the further job runs, and the other way round. A further job that is dropped cancels
    /// nothing, unless it polls a future.
    ///
    /// A future that waits is woken instead, and [scheduled](Schedule::schedule) by the class. The class of a running closure, and of a
    /// future whose [guard](Guard) holds or decides something before the first poll, only changes.
    ///
    /// ```
    /// use brigade_task::{Job, Outcome};
    /// let (job, handle) = Job::with_handle(|| 6 * 7);
    /// let further = Job::raised(&handle, 2).map(Job::run);
    /// assert_eq!((further, handle.class()), (Some(Outcome::Returned), 2));
    /// assert_eq!(job.run(), Outcome::Stale);
    /// assert_eq!(handle.join()?, 42);
    /// # Ok::<(), brigade_task::JoinError>(())
    /// ```
    pub fn raised(of: &JobHandle, class: u8) -> Option<Self> {
        let cell = of.side().raise(class)?;
        Some(match of.is_of_future() {
            // SAFETY: Access rule: a reference has been added. A further job of a queued future is stale, or makes the other stale.
            true => unsafe { resumption(cell) },
            // SAFETY: Life rule: the side has been added.
            false => unsafe { Self::second(cell) },
        })
    }

    /// Returns whether it polls a future again.
    pub fn is_resumption(&self) -> bool {
        self.identify() == TypeId::of::<Resumption>()
    }

    /// Returns whether it polls a future.
    pub fn is_future(&self) -> bool {
        let id = self.identify();
        is_fresh(id) || id == TypeId::of::<Resumption>()
    }

    /// Drops the job of a woken future but not the future, which will not be polled any more: [`TaskRef::end`] must drop it. Calls no
    /// user code.
    pub fn leave(self) {
        debug_assert!(self.is_resumption(), "a waker makes no other job");
        _ = self.consume(Action::Leave, core::ptr::null_mut());
    }

    /// Returns a reference to the future, if it polls a future again.
    pub fn task(&self) -> Option<TaskRef> {
        self.is_resumption().then(|| {
            // SAFETY: the payload of such a job begins with a pointer to the task.
            let task = unsafe { self.first_word() };
            let Some(task) = NonNull::new(task.cast_mut().cast()) else {
                unreachable!("it has one")
            };
            // SAFETY: Access rule: the job has the access.
            unsafe { TaskRef::new(task) }
        })
    }

    /// Returns the future, unless it has been polled.
    ///
    /// The handle gets [`JoinError::Cancelled`](crate::JoinError::Cancelled), and the scheduler is not notified.
    ///
    /// # Errors
    /// The job, unless it is the first of a future.
    ///
    /// # Panics
    /// If the future is not an `F`.
    pub fn into_future<F: 'static>(self) -> Result<F, Self> {
        if !is_fresh(self.identify()) {
            return Err(self);
        }
        let mut future = MaybeUninit::<F>::uninit();
        let out = future.as_mut_ptr().cast();
        let mut request = TakeRequest { id: TypeId::of::<F>(), out };
        let outcome = self.consume(Action::Take, core::ptr::from_mut(&mut request).cast());
        assert!(matches!(outcome, Outcome::Cancelled(_)), "it is another future");
        // SAFETY: it is an `F`, and `Cancelled` means `Take` moved it here.
        Ok(unsafe { future.assume_init() })
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests;
