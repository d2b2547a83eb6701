//! The running guard: the exclusive access to a future, which polls, cancels or ends it.

use core::any::{Any, TypeId};
use core::future::Future;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};
use std::panic::{self, AssertUnwindSafe};

use brigade_sync::cell::UnsafeCell;
use brigade_sync::{budget, call_user};

use super::schedule::{Guard, Schedule, Woken};
use super::task::{FutureStage, Head, Task, free, stage, take};
use super::waker::{TaskRef, with_waker};
use crate::act::{Action, Outcome, Payload, TakeRequest, inspect};
use crate::cause::Cause;
use crate::cell::lifecycle::Pause;
use crate::cell::state::{JOB, State};
use crate::cell::{FutureVTable, Header, RunningFuture, VTable, frames};
use crate::contain::{contain, drop_contained};
use crate::error::JoinError;
use crate::job::Job;

/// Allocates the task of a queued future: the access belongs to the job, which the caller must make.
pub(super) fn allocate<F: Future + 'static, E: Schedule>(
    future: F,
    scheduler: E,
    state: State,
) -> NonNull<Header> {
    let vtable = const {
        &VTable {
            take: take::<F, E>,
            settle: settle::<F, E>,
            free: free::<F, E>,
            future: Some(Running::<E>::VTABLE),
        }
    };
    let task = Box::leak(Box::<Task<F, E>>::new_uninit());
    // Written in place: the future is not first built on the stack.
    let task = task.write(Task {
        head: Head {
            header: Header::of_future(vtable, state),
            scheduler,
            key: UnsafeCell::new(0),
            stage: UnsafeCell::new(()),
        },
        stage: FutureStage { future: ManuallyDrop::new(future) },
    });
    NonNull::from(task).cast()
}

/// The access to a future, and a reference to it, given up by [`pause`](Self::pause) or [`complete`](Self::complete). The functions that
/// do not depend on the type of the future are here, so that futures share them.
struct Running<E> {
    task: NonNull<Header>,
    scheduler: PhantomData<fn() -> E>,
}

impl<E: Schedule> Running<E> {
    const VTABLE: &'static FutureVTable = &FutureVTable {
        is_local: E::IS_LOCAL,
        is_here: is_here::<E>,
        schedule: schedule::<E>,
        give_back: give_back::<E>,
    };

    fn head(&self) -> &Head<E> {
        // SAFETY: the scheduler is an `E` and the guard has a reference, guaranteed by the maker.
        unsafe { self.task.cast::<Head<E>>().as_ref() }
    }

    /// Gives up the access to a pending future, after binding it to the scheduler if it is about to wait. Returns `false` if the future must
    /// be cancelled instead, because the pool ends.
    #[inline(always)]
    fn pause(&self) -> bool {
        let Head { header, scheduler, key, .. } = self.head();
        let scheduler = *scheduler;
        if scheduler.cuts(RunningFuture::of(&header.state)) {
            return false;
        }
        // A future queued again does not wait: the scheduler has its job.
        if !header.lifecycle.is_woken() {
            key.with_mut(|key| {
                // SAFETY: Access rule.
                let key = unsafe { &mut *key };
                if *key == 0 {
                    // SAFETY: Access rule.
                    *key = scheduler.bind(unsafe { TaskRef::new(self.task) });
                }
            });
        }
        match header.lifecycle.end_poll() {
            Pause::Idle => true,
            Pause::Reschedule => {
                // The job takes over the access and the reference; this thread must not touch the task any more.
                // SAFETY: Access rule: `end_poll` told the caller to make the job. The scheduler is an `E`.
                unsafe { reschedule::<E>(self.task) };
                true
            }
            Pause::Orphaned => false,
        }
    }

    /// The result of a future cancelled for this cause, unless it was asked to stop before.
    #[cold]
    fn cancelled<T>(&self, cause: Cause) -> Result<T, JoinError> {
        Err(JoinError::Cancelled(self.head().header.state.stop_for(cause)))
    }

    /// Ends the future, which has been dropped: tells the handle and the scheduler. The result is written to this place.
    fn end<T>(&self, place: *mut Result<T, JoinError>, result: Result<T, JoinError>) {
        let Head { scheduler, key, .. } = self.head();
        let scheduler = *scheduler;
        let key = key.with(|key| {
            // SAFETY: Access rule.
            unsafe { *key }
        });
        let (outcome, unclaimed) = self.complete(place, result);
        scheduler.release(key, outcome, unclaimed);
    }

    /// Writes the result over the future, wakes the handle and drops the guard's reference.
    ///
    /// Returns the final outcome, and the payload of a panic if no handle takes it.
    fn complete<T>(
        &self,
        place: *mut Result<T, JoinError>,
        result: Result<T, JoinError>,
    ) -> (Outcome, Option<Box<dyn Any + Send>>) {
        let (outcome, unclaimed) = self.tell(place, result);
        if self.head().header.lifecycle.finish() {
            // SAFETY: it was the last reference.
            unsafe { Header::release(self.task, JOB) };
        }
        // From here on the task may be gone.
        match unclaimed {
            Some(Err(JoinError::Panicked(panic))) => (outcome, Some(panic.into_payload())),
            other => {
                drop_contained(other);
                (outcome, None)
            }
        }
    }

    /// Writes the result over the future and wakes the handle; returns the final outcome, and the result if the handle is gone.
    fn tell<T>(
        &self,
        place: *mut Result<T, JoinError>,
        result: Result<T, JoinError>,
    ) -> (Outcome, Option<Result<T, JoinError>>) {
        let Head { header, stage, .. } = self.head();
        // SAFETY: Stage rule: the future is gone, and `DONE` is not set.
        let write = |result| stage.with_mut(|_| unsafe { place.write(result) });
        // SAFETY: Stage rule: called where the place holds a result that belongs to the finisher.
        let read = || stage.with_mut(|_| unsafe { place.read() });
        let mut outcome = Outcome::of(&result);
        write(result);
        let finished = header.state.finish_unless_stopped().unwrap_or_else(|| {
            // The stop request promised to cancel the future. A later request comes after `DONE`.
            let cause = header.state.stop_for(Cause::Asked);
            outcome = Outcome::Cancelled(cause);
            drop_contained(read());
            write(Err(JoinError::Cancelled(cause)));
            header.state.finish()
        });
        // SAFETY: `DONE` was set just now.
        let is_detached = unsafe { header.deliver(finished) };
        (outcome, is_detached.then(read))
    }
}

/// Polls the future, or ends it for the cause `stop`: drops it, or moves it out if `taken` requests it.
///
/// # Safety
/// Access rule: the caller must have the access and a reference, and gives them up. The task must have these types. A request must have
/// room for a future of its type, and the future must not have been polled.
unsafe fn settle<F: Future + 'static, E: Schedule>(
    task: NonNull<Header>,
    stop: Option<Cause>,
    taken: Option<&TakeRequest>,
) -> Outcome {
    let running = Running::<E> { task, scheduler: PhantomData };
    // SAFETY: the types are right, guaranteed by the caller.
    let place = unsafe { stage::<F, E>(task) };
    let Head { header, stage, .. } = running.head();
    let result = match stop {
        // A request to stop has its own cause.
        None if header.state.is_stop_requested() => running.cancelled(Cause::Asked),
        // SAFETY: guaranteed by the caller.
        None => match unsafe { poll(&running, place) } {
            Ok(Poll::Pending) if running.pause() => return Outcome::Polled,
            Ok(Poll::Pending) => running.cancelled(Cause::Ended),
            Ok(Poll::Ready(value)) => Ok(value),
            Err(payload) => Err(JoinError::panicked(payload)),
        },
        Some(cause) => running.cancelled(cause),
    };
    if let Some(request) = taken.filter(|request| request.id == TypeId::of::<F>()) {
        // SAFETY: Stage rule: it holds the future, and the guard has the access; the moved-out stage is overwritten. Pin rule: it has not
        // been polled. The request has room, guaranteed by the caller.
        stage.with_mut(|_| unsafe { request.out.cast::<F>().copy_from_nonoverlapping(place, 1) });
        drop_contained(running.complete(place.cast(), result));
        return Outcome::Cancelled(Cause::Ended);
    }
    // SAFETY: Stage rule: it holds the future, and the guard has the access. Pin rule: it is dropped in place.
    let drop_future = || stage.with_mut(|_| unsafe { place.drop_in_place() });
    contain(|| frames::enter(&header.state, drop_future));
    running.end::<F::Output>(place.cast(), result);
    Outcome::Polled
}

/// Polls a future, which is at this place.
///
/// # Errors
/// The payload of a panic.
///
/// # Safety
/// As for [`settle`].
#[inline]
unsafe fn poll<F: Future, E: Schedule>(
    running: &Running<E>,
    place: *mut F,
) -> Result<Poll<F::Output>, Box<dyn Any + Send>> {
    let Head { header, stage, .. } = running.head();
    let poll = |waker: &_| {
        stage.with_mut(|_| {
            // SAFETY: Stage rule: it holds the future, and the guard has the access.
            let future = unsafe { &mut *place };
            // SAFETY: Pin rule: from here on it is not moved.
            let future = unsafe { Pin::new_unchecked(future) };
            call_user(|| future.poll(&mut Context::from_waker(waker)))
        })
    };
    // SAFETY: Access rule.
    let poll = || frames::enter(&header.state, || unsafe { with_waker(running.task, poll) });
    let must_stop = || frames::must_stop() || E::STOPS_ALL();
    panic::catch_unwind(AssertUnwindSafe(|| budget::poll_task(must_stop, poll).0))
}

/// Makes the job of a woken future and passes it to the scheduler.
///
/// # Safety
/// Access rule: the caller must make the job, for which it has a reference. The scheduler must be an `E`.
unsafe fn schedule<E: Schedule>(header: NonNull<Header>) {
    // SAFETY: the type is right, guaranteed by the caller; the job's reference keeps the task alive.
    let Head { header: of, scheduler, .. } = unsafe { header.cast::<Head<E>>().as_ref() };
    let (scheduler, class) = (*scheduler, of.state.class());
    // SAFETY: guaranteed by the caller.
    scheduler.schedule(unsafe { resumption(header) }, Woken::Idle, class);
}

/// Like [`schedule`], after a poll during which the future was woken.
///
/// # Safety
/// As for [`schedule`].
#[inline(never)]
unsafe fn reschedule<E: Schedule>(header: NonNull<Header>) {
    // SAFETY: as in `schedule`.
    let Head { header: of, scheduler, .. } = unsafe { header.cast::<Head<E>>().as_ref() };
    let (scheduler, class) = (*scheduler, of.state.class());
    // SAFETY: guaranteed by the caller.
    scheduler.schedule(unsafe { resumption(header) }, Woken::Polled, class);
}

/// Whether the calling thread may drop the future.
///
/// # Safety
/// The caller's side must be alive. The scheduler must be an `E`.
unsafe fn is_here<E: Schedule>(header: NonNull<Header>) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { header.cast::<Head<E>>().as_ref() }.scheduler.is_here()
}

/// Gives back the content of the guard of a claimed future.
///
/// # Safety
/// As for [`is_here`].
unsafe fn give_back<E: Schedule>(header: NonNull<Header>) {
    // SAFETY: guaranteed by the caller.
    unsafe { header.cast::<Head<E>>().as_ref() }.scheduler.give_back();
}

/// The payload of a job that polls a future.
#[repr(C)]
pub(super) struct Turn<G> {
    pub(super) task: NonNull<Header>,
    /// The guard kept until the first poll; `()` in the jobs after it.
    pub(super) guard: G,
}

/// The type that identifies the job of a first poll.
struct Fresh;

/// The type that identifies the job of a further poll.
pub(super) struct Resumption;

/// Whether this identifies the job of a first poll.
pub(super) fn is_fresh(id: TypeId) -> bool {
    id == TypeId::of::<Fresh>()
}

/// Makes a job that polls a future again.
///
/// # Safety
/// Access rule: the caller must make the job and pass it the reference for it.
pub(super) unsafe fn resumption(task: NonNull<Header>) -> Job {
    // SAFETY: a pointer is one word, and `act` is the function of such a job.
    unsafe { Job::from_raw(act::<()>, Turn { task, guard: () }) }
}

/// The function of a job that polls a future.
///
/// # Safety
/// Payload rule of [`crate::job`]; `out` must be as the action says, but a [`TakeRequest`] for `Take`.
pub(super) unsafe fn act<G: Guard>(payload: *mut Payload, action: Action, out: *mut ()) -> Outcome {
    // SAFETY: Payload rule: the payload is a `Turn`, which begins with a pointer to a task.
    let task = unsafe { payload.cast::<NonNull<Header>>().read() };
    // SAFETY: the job has a reference.
    let header = || unsafe { task.as_ref() };
    // The handle may have polled the future before.
    let id = || match header().lifecycle.is_unpolled() {
        true => TypeId::of::<Fresh>(),
        false => TypeId::of::<Resumption>(),
    };
    // SAFETY: `out` is as the action says, guaranteed by the caller.
    if unsafe {
        inspect(action, out, id, &|| !header().lifecycle.is_queued(), &|class| {
            header().state.note_class(class)
        })
    } {
        return Outcome::Polled;
    }
    // SAFETY: Payload rule: the payload is a `Turn`, and is consumed.
    let Turn { guard, .. } = unsafe { payload.cast::<Turn<G>>().read() };
    let leave = |guard: G| {
        if const { mem::needs_drop::<G>() } {
            contain(|| guard.leave());
        }
        Outcome::Stale
    };
    let begun = if action == Action::Leave { None } else { header().lifecycle.begin_poll() };
    let Some(is_first) = begun else {
        // The job is stale.
        // SAFETY: the job is consumed.
        drop(unsafe { TaskRef::of_job(task) });
        return leave(guard);
    };
    let may_start = !is_first || guard.may_start();
    if is_first {
        drop_contained(guard);
    } else {
        // It has been polled before, and the content of the guard has been given back.
        leave(guard);
    }
    let (stop, taken) = match action {
        Action::Run if may_start => (None, None),
        Action::Run => (Some(Cause::Deadline), None),
        // SAFETY: `out` is a `TakeRequest`, guaranteed by the caller.
        Action::Take if is_first => (Some(Cause::Ended), Some(unsafe { &*out.cast() })),
        _ => (Some(action.cause(out)), None),
    };
    let settle = header().vtable.settle;
    // SAFETY: Access rule: the poll has begun. The vtable is the task's.
    unsafe { settle(task, stop, taken) }
}
