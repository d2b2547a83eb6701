//! The function of a job: the actions it performs, and the outcome of the job.

use core::any::TypeId;
use core::mem::MaybeUninit;

use crate::cause::Cause;
use crate::error::JoinError;

/// Three words: a closure of up to 24 bytes, or a pointer to a larger one.
pub(crate) type Payload = [MaybeUninit<usize>; 3];

/// The function of a job; it knows the type of the payload.
pub(crate) type Act = unsafe fn(*mut Payload, Action, *mut ()) -> Outcome;

/// An action of a job's function.
///
/// All but the last three consume the payload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Run the payload.
    Run,
    /// Drop the payload; the handle gets `Cancelled`. Instead of a pointer `out` is the number of the [`Cause`]: an action without a
    /// field is one comparison when a job runs.
    Drop,
    /// Move the closure to `out`, which has room for it. For a future `out` is a request instead.
    Take,
    /// Drop a stale job. The future of a stale job is not cancelled, even if it has been queued again.
    Leave,
    /// Write the closure's [`TypeId`] to `out`; the returned outcome has no meaning.
    Identify,
    /// Write to `out`, a `bool`, whether the job is stale; the returned outcome has no meaning.
    IsStale,
    /// Note the class in the cell, if there is one. Instead of a pointer `out` is the number of the class.
    NoteClass,
}

impl Action {
    /// The cause for which a payload is dropped without a run.
    pub(crate) fn cause(self, out: *mut ()) -> Cause {
        if self == Self::Drop { Cause::of_number(out.addr()) } else { Cause::Ended }
    }
}

/// The request of a [`Take`](Action::Take) of a future.
pub(crate) struct TakeRequest {
    /// The type of the future.
    pub(crate) id: TypeId,
    /// Has room for it.
    pub(crate) out: *mut (),
}

/// Answers a read-only action; `false` for the others.
///
/// # Safety
/// `out` must be as the action says.
#[inline(always)]
pub(crate) unsafe fn inspect(
    action: Action,
    out: *mut (),
    id: impl FnOnce() -> TypeId,
    is_stale: &dyn Fn() -> bool,
    note_class: &dyn Fn(u8),
) -> bool {
    match action {
        Action::NoteClass => note_class(out.addr() as u8),
        // SAFETY: `out` is a `TypeId`, guaranteed by the caller.
        Action::Identify => unsafe { out.cast::<TypeId>().write(id()) },
        // SAFETY: `out` is a `bool`, guaranteed by the caller.
        Action::IsStale => unsafe { out.cast::<bool>().write(is_stale()) },
        Action::Run | Action::Drop | Action::Take | Action::Leave => return false,
    }
    true
}

/// How a job that was run or dropped ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The closure returned.
    Returned,
    /// The closure panicked, and the handle has the payload.
    Panicked,
    /// The closure was dropped without being run, or [would not start](crate::Work::may_start), for this cause.
    Cancelled(Cause),
    /// The queue entry was [stale](crate::Job::is_stale): the closure or the woken future had been run or dropped through the handle
    /// already.
    Stale,
    /// The job polled or dropped a future, whose end is reported to [`Schedule::release`](crate::Schedule::release).
    Polled,
}

impl Outcome {
    /// The outcome of a job with this result.
    #[inline]
    pub(crate) fn of<T>(result: &Result<T, JoinError>) -> Self {
        match result {
            Ok(_) => Self::Returned,
            Err(JoinError::Cancelled(cause)) => Self::Cancelled(*cause),
            Err(_) => Self::Panicked,
        }
    }
}

/// The effect of a stop request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Asked {
    /// Nothing: it had been asked before, or has ended.
    Nothing,
    /// A closure sees it, unless it has ended; a future is certain to be cancelled.
    ToStop,
    /// The caller has dropped the future, which had not been polled. Its job in the queue is [stale](Outcome::Stale).
    Dropped,
}
