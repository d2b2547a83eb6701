//! The running guard: the exclusive access to a future, which polls, cancels or ends it.

use core::any::{Any, TypeId};
use core::future::Future;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop, MaybeUninit};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};
use std::panic::{self, AssertUnwindSafe};

use brigade_sync::cell::UnsafeCell;
use brigade_sync::{budget, call_user};

use super::schedule::{Guard, Schedule, Woken};
use super::task::{FutureStage, Task, free, take};
use super::waker::{TaskRef, with_waker};
use crate::act::{Action, Outcome, Payload, inspect};
use crate::cause::Cause;
use crate::cell::lifecycle::Pause;
use crate::cell::state::{JOB, State};
use crate::cell::{Header, RunningFuture, VTable, frames};
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
            is_local: E::IS_LOCAL,
            is_here: is_here::<F, E>,
            free: free::<F, E>,
            schedule: Some(schedule::<F, E>),
        }
    };
    let task = Box::leak(Box::<Task<F, E>>::new_uninit());
    // Written in place: the future is not first built on the stack.
    let task = task.write(Task {
        header: Header::of_future(vtable, state),
        scheduler,
        key: UnsafeCell::new(0),
        stage: UnsafeCell::new(FutureStage { future: ManuallyDrop::new(future) }),
    });
    NonNull::from(task).cast()
}

/// The access to a future, and a reference to it, consumed by any method.
pub(super) struct Running<F, E> {
    task: NonNull<Header>,
    types: PhantomData<fn() -> (F, E)>,
}

impl<F: Future + 'static, E: Schedule> Running<F, E> {
    /// Turns a job into the guard, and returns whether the future may have stayed [unpolled](crate::cell::lifecycle); `None` if the job is
    /// stale, and then drops the reference.
    ///
    /// # Safety
    /// The caller must have a job of the future and consume it. The task must have these types.
    pub(super) unsafe fn begin(task: NonNull<Header>) -> Option<(Self, bool)> {
        let this = Self { task, types: PhantomData };
        let begun = this.task().header.lifecycle.begin_poll();
        if begun.is_none() {
            // SAFETY: guaranteed by the caller.
            unsafe { drop_stale(task) };
        }
        begun.map(|is_unpolled| (this, is_unpolled))
    }

    fn task(&self) -> &Task<F, E> {
        // SAFETY: the types are right and the guard has a reference, guaranteed by the caller of `begin`.
        unsafe { self.task.cast::<Task<F, E>>().as_ref() }
    }

    /// Polls the future, unless it has been asked to stop; ends it if it is ready.
    pub(super) fn poll(self) {
        if self.task().header.state.is_stop_requested() {
            // For the cause of the request.
            return self.cancel(Cause::Asked);
        }
        let call = || frames::enter(&self.task().header.state, || self.poll_future());
        let must_stop = || frames::must_stop() || E::STOPS_ALL();
        let call = || budget::poll_task(must_stop, call).0;
        match panic::catch_unwind(AssertUnwindSafe(call)) {
            Ok(Poll::Pending) => self.pause(),
            Ok(Poll::Ready(value)) => self.end(Ok(value)),
            Err(payload) => self.end(Err(JoinError::panicked(payload))),
        }
    }

    fn poll_future(&self) -> Poll<F::Output> {
        let poll = |waker: &_| {
            self.task().stage.with_mut(|stage| {
                // SAFETY: Stage rule: it holds the future, and the guard has the access.
                let future = unsafe { &mut *stage.cast::<F>() };
                // SAFETY: Pin rule: from here on it is not moved.
                let future = unsafe { Pin::new_unchecked(future) };
                call_user(|| future.poll(&mut Context::from_waker(waker)))
            })
        };
        // SAFETY: Access rule.
        unsafe { with_waker(self.task, poll) }
    }

    /// Gives up the access to a pending future, after binding it to the scheduler if it is about to wait.
    fn pause(self) {
        let Task { header, scheduler, key, .. } = self.task();
        let scheduler = *scheduler;
        if scheduler.cuts(RunningFuture::of(&header.state)) {
            return self.cancel(Cause::Ended);
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
            Pause::Idle => {}
            Pause::Reschedule => {
                // The job takes over the access and the reference; this thread must not touch the task any more.
                // SAFETY: Access rule: `end_poll` told the caller to make the job.
                scheduler.schedule(unsafe { resumption::<F, E>(self.task) }, Woken::Polled);
            }
            Pause::Orphaned => self.cancel(Cause::Ended),
        }
    }

    /// Drops the future without polling it, for this cause unless it was asked to stop before.
    #[cold]
    pub(super) fn cancel(self, cause: Cause) {
        let cause = self.task().header.state.stop_for(cause);
        self.end(Err(JoinError::Cancelled(cause)));
    }

    /// Moves the future to `out`; the handle gets `Cancelled`, and the scheduler is not notified.
    ///
    /// Not inlined: the frame may have room for a result.
    ///
    /// # Safety
    /// Pin rule: the future must never have been polled.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn take_future(self, out: &mut MaybeUninit<F>) {
        self.task().stage.with_mut(|stage| {
            // SAFETY: Stage rule: it holds the future, and the guard has the access; the moved-out stage is overwritten. Pin
            // rule, guaranteed by the caller.
            unsafe { out.as_mut_ptr().copy_from_nonoverlapping(stage.cast::<F>(), 1) };
        });
        drop_contained(self.complete(Err(JoinError::Cancelled(Cause::Ended))));
    }

    /// Ends the future: drops it, then tells the handle and the scheduler.
    fn end(self, result: Result<F::Output, JoinError>) {
        self.drop_future();
        let Task { scheduler, key, .. } = self.task();
        let scheduler = *scheduler;
        let key = key.with(|key| {
            // SAFETY: Access rule.
            unsafe { *key }
        });
        let (outcome, unclaimed) = self.complete(result);
        scheduler.release(key, outcome, unclaimed);
    }

    fn drop_future(&self) {
        let task = self.task();
        let drop_future = || {
            task.stage.with_mut(|stage| {
                // SAFETY: Stage rule: it holds the future, and the guard has the access. Pin rule: it is dropped in place.
                unsafe { stage.cast::<F>().drop_in_place() };
            });
        };
        contain(|| frames::enter(&task.header.state, drop_future));
    }

    /// Writes the result over the future, wakes the handle and drops the guard's reference.
    ///
    /// Returns the final outcome, and the payload of a panic if no handle takes it.
    fn complete(
        self,
        result: Result<F::Output, JoinError>,
    ) -> (Outcome, Option<Box<dyn Any + Send>>) {
        let (outcome, unclaimed) = self.tell(result);
        if self.task().header.lifecycle.finish() {
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
    fn tell(
        &self,
        result: Result<F::Output, JoinError>,
    ) -> (Outcome, Option<Result<F::Output, JoinError>>) {
        let task = self.task();
        let mut outcome = Outcome::of(&result);
        // SAFETY: Stage rule: the future is gone, and `DONE` is not set.
        unsafe { task.write(result) };
        let finished = task.header.state.finish_unless_stopped().unwrap_or_else(|| {
            // The stop request promised to cancel the future. A later request comes after `DONE`.
            let cause = task.header.state.stop_for(Cause::Asked);
            outcome = Outcome::Cancelled(cause);
            // SAFETY: Stage rule: `DONE` is not set.
            drop_contained(unsafe { task.read() });
            // SAFETY: as above.
            unsafe { task.write(Err(JoinError::Cancelled(cause))) };
            task.header.state.finish()
        });
        // SAFETY: `DONE` was set just now.
        let is_detached = unsafe { task.header.deliver(finished) };
        // SAFETY: Stage rule: if the handle is gone, the result belongs to the finisher.
        (outcome, is_detached.then(|| unsafe { task.read() }))
    }
}

/// Makes the job of a woken future and passes it to the scheduler.
///
/// # Safety
/// Access rule: the caller must make the job, for which it has a reference. The task must have these types.
unsafe fn schedule<F: Future + 'static, E: Schedule>(header: NonNull<Header>) {
    // SAFETY: the types are right, guaranteed by the caller; the job's reference keeps the task alive.
    let scheduler = unsafe { header.cast::<Task<F, E>>().as_ref() }.scheduler;
    // SAFETY: guaranteed by the caller.
    scheduler.schedule(unsafe { resumption::<F, E>(header) }, Woken::Idle);
}

/// Whether the calling thread may drop the future.
///
/// # Safety
/// The caller's side must be alive. The task must have these types.
unsafe fn is_here<F: Future + 'static, E: Schedule>(header: NonNull<Header>) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { header.cast::<Task<F, E>>().as_ref() }.scheduler.is_here()
}

/// Polls a claimed future, or drops it for the cause `stop`. The job, now stale, keeps its reference.
///
/// # Safety
/// Claim: the caller must have claimed the future. The caller's side must be alive, and the task have these types.
unsafe fn settle<F: Future + 'static, E: Schedule>(
    task: NonNull<Header>,
    stop: Option<Cause>,
) -> Outcome {
    let running = Running::<F, E> { task, types: PhantomData };
    let Task { header, scheduler, .. } = running.task();
    // Before any user code, as a guard is dropped.
    if header.lifecycle.begin_claimed() && header.state.holds() {
        scheduler.give_back();
    }
    match stop {
        None => running.poll(),
        Some(cause) => running.cancel(cause),
    }
    Outcome::Polled
}

/// Drops the reference of a stale job.
///
/// # Safety
/// The caller must have the job and consume it.
unsafe fn drop_stale(task: NonNull<Header>) {
    // SAFETY: guaranteed by the caller.
    drop(unsafe { TaskRef::of_job(task) });
}

/// The payload of a job that polls a future.
#[repr(C)]
pub(super) struct Turn<G> {
    pub(super) task: NonNull<Header>,
    /// The guard kept until the first poll; `()` in the jobs after it.
    pub(super) guard: G,
}

/// The request of a `Take` of a future.
pub(super) struct TakeRequest {
    /// The type of the future.
    pub(super) id: TypeId,
    /// Has room for it.
    pub(super) out: *mut (),
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
/// Access rule: the caller must make the job and pass it the reference for it. The task must have these types.
unsafe fn resumption<F: Future + 'static, E: Schedule>(task: NonNull<Header>) -> Job {
    // SAFETY: a pointer is one word, and `act` is the function of such a job.
    unsafe { Job::from_raw(act::<F, (), E>, Turn { task, guard: () }) }
}

/// The function of a job that polls a future.
///
/// # Safety
/// Payload rule of [`crate::job`]; `out` must be as the action says, but a [`TakeRequest`] for `Take`.
pub(super) unsafe fn act<F: Future + 'static, G: Guard, E: Schedule>(
    payload: *mut Payload,
    action: Action,
    out: *mut (),
) -> Outcome {
    // SAFETY: Payload rule: the payload is a `Turn`, which begins with a pointer to a task.
    let task = unsafe { payload.cast::<NonNull<Header>>().read() };
    // SAFETY: the job has a reference.
    let lifecycle = || &unsafe { task.as_ref() }.lifecycle;
    // The handle may have polled the future before.
    let id = || match lifecycle().is_unpolled() {
        true => TypeId::of::<Fresh>(),
        false => TypeId::of::<Resumption>(),
    };
    // SAFETY: `out` is as the action says, guaranteed by the caller.
    if unsafe { inspect(action, out, id, || !lifecycle().is_queued()) } {
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
    if action == Action::Leave {
        // SAFETY: the job is consumed.
        unsafe { drop_stale(task) };
        return leave(guard);
    }
    // SAFETY: the job is consumed.
    let Some((running, is_first)) = (unsafe { Running::<F, E>::begin(task) }) else {
        return leave(guard);
    };
    let may_start = !is_first || guard.may_start();
    if is_first {
        drop_contained(guard);
    } else {
        // It has been polled before, and the content of the guard has been given back.
        leave(guard);
    }
    match action {
        Action::Run if may_start => running.poll(),
        Action::Take => {
            // SAFETY: `out` is a `TakeRequest`, guaranteed by the caller.
            let request = unsafe { &*out.cast::<TakeRequest>() };
            if is_first && request.id == TypeId::of::<F>() {
                // SAFETY: the request has room for a future of this type.
                let out = unsafe { &mut *request.out.cast::<MaybeUninit<F>>() };
                // SAFETY: Pin rule: it has not been polled.
                unsafe { running.take_future(out) };
                return Outcome::Cancelled(Cause::Ended);
            }
            running.cancel(action.cause(out));
        }
        Action::Run => running.cancel(Cause::Deadline),
        _ => running.cancel(action.cause(out)),
    }
    Outcome::Polled
}
