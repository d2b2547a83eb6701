//! The cell of a closure.

use core::any::TypeId;
use core::mem;
use core::ptr::NonNull;
use std::panic::{self, AssertUnwindSafe};

use brigade_sync::cell::UnsafeCell;

use super::frames;
use super::header::{Header, VTable};
use super::state::{JOB, State};
use crate::act::{Act, Action, Outcome, Payload, TakeRequest, inspect};
use crate::cause::Cause;
use crate::contain::dispose;
use crate::error::JoinError;
use crate::work::Work;

/// The closure, then the result.
enum Stage<F, T> {
    Closure(F),
    Result(Result<T, JoinError>),
    Empty,
}

/// The memory shared by a job made of a closure and its handle.
#[repr(C)]
struct ClosureCell<F, T> {
    /// First: a pointer to the cell is also a pointer to the header.
    header: Header,
    /// Stage rule.
    stage: UnsafeCell<Stage<F, T>>,
}

/// Allocates a cell for a job and a handle; returns the function and the payload of the job.
pub(crate) fn allocate<F, T>(closure: F) -> (Act, NonNull<Header>)
where
    F: Work<Output = T>,
    T: Send + 'static,
{
    let vtable = const {
        &VTable { take: take::<F, T>, settle: settle::<F, T>, free: free::<F, T>, future: None }
    };
    let cell = Box::new(ClosureCell::<F, T> {
        header: Header::of_closure(vtable),
        stage: UnsafeCell::new(Stage::Closure(closure)),
    });
    (act::<F, T>, NonNull::from(Box::leak(cell)).cast())
}

impl<F: Work<Output = T>, T> ClosureCell<F, T> {
    /// Replaces the stage.
    ///
    /// # Safety
    /// Stage rule: the caller must have claimed the task, or own the result.
    unsafe fn replace(&self, stage: Stage<F, T>) -> Stage<F, T> {
        self.stage.with_mut(|current| {
            // SAFETY: Stage rule, guaranteed by the caller.
            mem::replace(unsafe { &mut *current }, stage)
        })
    }

    /// Takes the claimed closure.
    ///
    /// # Safety
    /// The caller must have claimed the task and not have taken the closure before.
    unsafe fn take_closure(&self) -> F {
        // SAFETY: Stage rule, guaranteed by the caller.
        match unsafe { self.replace(Stage::Empty) } {
            Stage::Closure(closure) => closure,
            _ => unreachable!("a task is claimed once"),
        }
    }

    /// Writes the result and wakes the handle; returns the result if the handle is gone.
    ///
    /// # Safety
    /// The caller must have claimed the task and have taken the closure.
    unsafe fn finish(&self, result: Result<T, JoinError>) -> Option<Result<T, JoinError>> {
        // SAFETY: Stage rule, guaranteed by the caller.
        unsafe { self.replace(Stage::Result(result)) };
        let finished = self.header.state.finish();
        // SAFETY: `DONE` was set just now.
        if !unsafe { self.header.deliver(finished) } {
            return None;
        }
        // SAFETY: Stage rule: the handle is gone, so the result belongs to the finisher.
        match unsafe { self.replace(Stage::Empty) } {
            Stage::Result(result) => Some(result),
            _ => None,
        }
    }
}

/// The function of a job whose payload is a pointer to a cell.
///
/// # Safety
/// Payload rule of [`crate::job`]; `out` must be as the action says.
unsafe fn act<F, T>(payload: *mut Payload, action: Action, out: *mut ()) -> Outcome
where
    F: Work<Output = T>,
    T: Send + 'static,
{
    /// Releases the job's side of the cell, also on unwinding.
    struct ReleaseJob(NonNull<Header>);
    impl Drop for ReleaseJob {
        fn drop(&mut self) {
            // SAFETY: Life rule: the job's side is released only here.
            unsafe { Header::release(self.0, JOB) };
        }
    }

    // SAFETY: Payload rule: the payload is a pointer to a cell.
    let pointer = unsafe { payload.cast::<NonNull<Header>>().read() };
    // SAFETY: Life rule: the job is alive, and its function is called with the types of the cell.
    let cell = unsafe { pointer.cast::<ClosureCell<F, T>>().as_ref() };
    let is_claimed = || cell.header.state.is_claimed();
    let note_class = |class| cell.header.state.note_class(class);
    // SAFETY: `out` is as the action says, guaranteed by the caller.
    if unsafe { inspect(action, out, TypeId::of::<F>, &is_claimed, &note_class) } {
        return Outcome::Stale;
    }
    let release = ReleaseJob(pointer);
    if !cell.header.state.claim() {
        return Outcome::Stale;
    }
    // SAFETY: claimed just now.
    let closure = unsafe { cell.take_closure() };
    let (result, panic) = match action {
        Action::Run => (start(&cell.header.state, closure), None),
        Action::Take => {
            // SAFETY: `out` has room for an `F`, guaranteed by the caller.
            unsafe { out.cast::<F>().write(closure) };
            (Err(JoinError::Cancelled(action.cause(out))), None)
        }
        _ => {
            let (cause, mut closure) = (action.cause(out), Some(closure));
            let dropped = frames::drop_as::<F>(cause, &mut || closure = None);
            (Err(JoinError::Cancelled(cause)), dropped.err())
        }
    };
    let outcome = Outcome::of(&result);
    // SAFETY: claimed, and the closure has been taken.
    let unclaimed = unsafe { cell.finish(result) };
    drop(release);
    // From here on the cell may be gone. A result without a handle is dropped, or unwinds if it is a panic.
    match (panic, unclaimed) {
        (Some(payload), _) => panic::resume_unwind(payload),
        (None, Some(Err(JoinError::Panicked(panic)))) => panic.resume(),
        (None, other) => drop(other),
    }
    outcome
}

/// Runs a closure if it may start; returns the result for the handle.
fn start<W: Work>(state: &State, closure: W) -> Result<W::Output, JoinError> {
    let call = || match closure.may_start() {
        Ok(()) => Ok(closure.run()),
        Err(cause) => Err((closure, cause)),
    };
    match panic::catch_unwind(AssertUnwindSafe(|| frames::enter(state, call))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err((closure, cause))) => cancel(closure, cause),
        Err(payload) => Err(JoinError::panicked(payload)),
    }
}

/// Drops a closure without a run, and contains a panic of the drop.
fn cancel<W: Work>(closure: W, cause: Cause) -> Result<W::Output, JoinError> {
    let mut closure = Some(closure);
    if let Err(payload) = frames::drop_as::<W>(cause, &mut || closure = None) {
        dispose(payload);
    }
    Err(JoinError::Cancelled(cause))
}

/// Moves the result to `out`.
///
/// # Safety
/// The cell must have these types and `DONE` be set. The caller must be the handle and not have taken the result before.
unsafe fn take<F: Work<Output = T>, T>(header: NonNull<Header>, out: *mut ()) {
    // SAFETY: the types are right, guaranteed by the caller; Life rule.
    let cell = unsafe { header.cast::<ClosureCell<F, T>>().as_ref() };
    // SAFETY: Stage rule: the result belongs to the handle.
    let Stage::Result(result) = (unsafe { cell.replace(Stage::Empty) }) else {
        unreachable!("a result is taken once")
    };
    // SAFETY: `out` has room for a result, guaranteed by the caller.
    unsafe { out.cast::<Result<T, JoinError>>().write(result) };
}

/// Runs the claimed closure if it may start, or drops it for the cause `stop`. The canceller may do the latter. A panic unwinds if
/// the handle is gone.
///
/// # Safety
/// The cell must have these types. The caller must be the handle, the canceller or the second job, and have claimed the task.
unsafe fn settle<F: Work<Output = T>, T>(
    header: NonNull<Header>,
    stop: Option<Cause>,
    _: Option<&TakeRequest>,
) -> Outcome {
    // SAFETY: the types are right, guaranteed by the caller; Life rule.
    let cell = unsafe { header.cast::<ClosureCell<F, T>>().as_ref() };
    // SAFETY: claimed by the caller.
    let closure = unsafe { cell.take_closure() };
    let result = match stop {
        None => start(&cell.header.state, closure),
        Some(cause) => cancel(closure, cause),
    };
    // SAFETY: claimed, and the closure has been taken.
    unsafe { settle_with(cell, result) }
}

/// The end of [`settle`]. Not in its frame, which lies on the stack during the run.
///
/// # Safety
/// As for [`ClosureCell::finish`].
unsafe fn settle_with<F: Work<Output = T>, T>(
    cell: &ClosureCell<F, T>,
    result: Result<T, JoinError>,
) -> Outcome {
    let outcome = Outcome::of(&result);
    // SAFETY: guaranteed by the caller.
    match unsafe { cell.finish(result) } {
        // Of a second job, whose handle is gone.
        Some(Err(JoinError::Panicked(panic))) => panic.resume(),
        // Also the canceller's.
        unclaimed => drop(unclaimed),
    }
    outcome
}

/// Frees a cell.
///
/// # Safety
/// The cell must have these types, and both sides have released it.
unsafe fn free<F, T>(header: NonNull<Header>) {
    // SAFETY: it came from a box of this type, and both sides have released it.
    drop(unsafe { Box::from_raw(header.cast::<ClosureCell<F, T>>().as_ptr()) });
}
