//! The function of a job: what it is asked to do, and how the job ended.

use core::any::TypeId;
use core::mem::MaybeUninit;

use crate::cause::Cause;
use crate::error::JoinError;

/// Three words: a closure of up to 24 bytes, or a pointer to a larger one.
pub(crate) type Payload = [MaybeUninit<usize>; 3];

/// The function of a job, which knows the type of its payload.
pub(crate) type Act = unsafe fn(*mut Payload, Action, *mut ()) -> Outcome;

/// What a job's function is asked to do.
///
/// All but the last two consume the payload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Run the payload.
    Run,
    /// Drop the payload; its handle gets `Cancelled`. Instead of a pointer `out` is the number of the [`Cause`]: an action without a field
    /// is one comparison for a job that runs.
    Drop,
    /// Move the closure to `out`, which has room for it. For a future `out` is a request instead.
    Take,
    /// Drop a job that is stale. The future of such a job is not cancelled, even if it has been queued again.
    Leave,
    /// Write the closure's [`TypeId`] to `out`; the returned outcome has no meaning.
    Identify,
    /// Write to `out`, a `bool`, whether the job is stale; the returned outcome has no meaning.
    IsStale,
}

impl Action {
    /// The cause for which a payload that does not run is dropped.
    pub(crate) fn cause(self, out: *mut ()) -> Cause {
        if self == Self::Drop { Cause::of_number(out.addr()) } else { Cause::Ended }
    }
}

/// Answers an action that only reads the payload; `false` for the others.
///
/// # Safety
/// `out` must be as the action says.
#[inline(always)]
pub(crate) unsafe fn inspect(
    action: Action,
    out: *mut (),
    id: impl FnOnce() -> TypeId,
    is_stale: impl FnOnce() -> bool,
) -> bool {
    match action {
        // SAFETY: `out` is a `TypeId`, guaranteed by the caller.
        Action::Identify => unsafe { out.cast::<TypeId>().write(id()) },
        // SAFETY: `out` is a `bool`, guaranteed by the caller.
        Action::IsStale => unsafe { out.cast::<bool>().write(is_stale()) },
        Action::Run | Action::Drop | Action::Take | Action::Leave => return false,
    }
    true
}

/// How a job ended that was run or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The closure returned.
    Returned,
    /// The closure panicked, and its handle has the payload.
    Panicked,
    /// The closure was dropped without being run, or [would not start](crate::Work::may_start), for this cause.
    Cancelled(Cause),
    /// The queue entry was [stale](crate::Job::is_stale): the closure or the woken future had been run or dropped through its handle already.
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

/// What it did to ask a job to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Asked {
    /// Nothing: it had been asked before, or has ended.
    Nothing,
    /// A closure sees it, unless it has ended; a future is certain to be cancelled.
    ToStop,
    /// A future that had not been polled has been dropped by the caller. Its job in the queue is [stale](Outcome::Stale).
    Dropped,
}
