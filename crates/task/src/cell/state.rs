//! The state of a task cell, and its transitions.
//!
//! | bit | meaning | set by | never set when |
//! |---|---|---|---|
//! | `CLAIMED` | the closure has been taken, to run or to drop it | the job, the handle or the canceller | – |
//! | `DONE` | the result has been written | the claiming thread | not claimed |
//! | `WAKER` | the waker slot is filled and belongs to the thread that sets `DONE` | the handle | `DONE` was set before |
//! | `JOB` | the job is alive | initially | – |
//! | `HANDLE` | the handle is alive | initially | – |
//! | `STOP_REQUESTED` | the closure is asked to stop, or the future to be dropped | the handle, the canceller | not claimed |
//! | `CANCELLER` | the canceller is alive | the handle, once | `HANDLE` is clear |
//! | `HOLDS` | the guard in the first job of a future holds something to give back at the claim | initially | – |
//! | `DECIDES` | the guard says whether the future may start | initially | – |
//! | `MEMBER` | the waker slot holds a reference to a set's list, and belongs to the thread that sets `DONE` | the handle | `DONE` was set before, or `WAKER` is set |
//! | `CAUSE` | two bits: the cause of the stop request | with `STOP_REQUESTED` | `STOP_REQUESTED` was set before |
//! | `SECOND` | the second job of a closure is alive | the handle | `CLAIMED` or `SECOND` was set before, or `HANDLE` is clear |
//! | `CLASS` | two bits: the class of the job, a number of the scheduler's | the creator, the handle | – |
//!
//! The result belongs to the handle if `HANDLE` is set when `DONE` is set; otherwise to the thread that set `DONE`. The
//! side that clears the last of `JOB`, `HANDLE`, `CANCELLER` and `SECOND` frees the cell.
//!
//! A future is cancelled if `STOP_REQUESTED` is set before `DONE`.
//!
//! For a closure `STOP_REQUESTED` decides nothing: only the closure looks at it, and not after `DONE`. It adds no race to
//! the models. The handle or the canceller sets it, the running thread reads it; all of them keep the cell alive, and the
//! bit publishes no other memory.

use brigade_sync::atomic::{AtomicU32, Ordering};

use crate::cause::Cause;

const CLAIMED: u32 = 1;
const DONE: u32 = 2;
const WAKER: u32 = 4;
pub(crate) const JOB: u32 = 8;
pub(crate) const HANDLE: u32 = 16;
const STOP_REQUESTED: u32 = 32;
pub(crate) const CANCELLER: u32 = 64;
const MEMBER: u32 = 128;
const HOLDS: u32 = 256;
const DECIDES: u32 = 512;
/// The place of the [`Cause`] of a stop request.
const CAUSE: u32 = 10;
pub(crate) const SECOND: u32 = 1 << 12;
/// The place of the class.
const CLASS: u32 = 13;

/// The sides of a cell, each of which keeps it alive.
const SIDES: u32 = JOB | HANDLE | CANCELLER | SECOND;

/// The state of a cell.
pub(crate) struct State(AtomicU32);

/// The next step of the thread that finished a task.
#[must_use]
pub(crate) enum Finished {
    /// The handle is gone: the finisher owns the result and must drop it.
    Detached,
    /// The finisher must take this out of the waker slot, and wake the waker or list the member.
    Attached(Filled),
}

impl Finished {
    fn after(before: u32) -> Self {
        match before & HANDLE {
            0 => Self::Detached,
            _ => Self::Attached(Filled::of(before)),
        }
    }
}

/// The kind of content in the waker slot.
#[derive(Clone, Copy)]
pub(crate) enum Filled {
    Nothing,
    Waker,
    /// The membership in a set.
    Member,
}

impl Filled {
    fn of(state: u32) -> Self {
        match state & (WAKER | MEMBER) {
            0 => Self::Nothing,
            WAKER => Self::Waker,
            _ => Self::Member,
        }
    }
}

impl State {
    /// Returns the state of a new closure with a job and a handle.
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(JOB | HANDLE))
    }

    /// Returns the state of a new future, whose access the lifecycle decides on.
    pub(crate) fn of_future(holds: bool, decides: bool) -> Self {
        let guard = (if holds { HOLDS } else { 0 }) | (if decides { DECIDES } else { 0 });
        Self(AtomicU32::new(CLAIMED | JOB | HANDLE | guard))
    }

    /// Whether the guard in the first job of a future holds something.
    pub(crate) fn holds(&self) -> bool {
        // Ordering: Relaxed: it is never changed.
        self.0.load(Ordering::Relaxed) & HOLDS != 0
    }

    /// Whether the guard says if the future may start.
    pub(crate) fn decides(&self) -> bool {
        // Ordering: Relaxed, as above.
        self.0.load(Ordering::Relaxed) & DECIDES != 0
    }

    /// Claims the closure; `false` if it was claimed before.
    #[must_use]
    pub(crate) fn claim(&self) -> bool {
        // Ordering: Relaxed: the closure came with the pointer, and the result is published by `DONE`.
        self.0.fetch_or(CLAIMED, Ordering::Relaxed) & CLAIMED == 0
    }

    /// Makes the cell of a new closure a member of a set, as [`offer_slot`](Self::offer_slot) does. No other thread may know the
    /// cell.
    pub(super) fn begin_as_member(&self) {
        // Ordering: Relaxed: the publication of the cell publishes this.
        self.0.store(JOB | HANDLE | MEMBER, Ordering::Relaxed);
    }

    /// Claims the closure of a member and takes the slot back, in one step, so the end is not pushed; `false`, without an
    /// effect, if it was claimed before or is no member.
    #[must_use]
    pub(super) fn claim_and_leave(&self) -> bool {
        let is_open_member = |state| state & (CLAIMED | MEMBER) == MEMBER;
        let next = |state| is_open_member(state).then_some((state | CLAIMED) & !MEMBER);
        // Ordering: Relaxed, as in `claim`; the link is the handle's own.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Whether the slot holds the membership in a set.
    #[inline]
    pub(super) fn is_member(&self) -> bool {
        // Ordering: Relaxed: a hint.
        self.0.load(Ordering::Relaxed) & MEMBER != 0
    }

    /// Returns whether the closure has been claimed; the job itself, before it has claimed, sees a claim of the handle.
    #[inline]
    pub(crate) fn is_claimed(&self) -> bool {
        // Ordering: Relaxed: a hint; `claim` decides.
        self.0.load(Ordering::Relaxed) & CLAIMED != 0
    }

    /// Clears and sets these bits if none of `unless` is set; returns the state before, as an error if one is.
    #[inline(always)]
    fn change_unless(
        &self,
        unless: u32,
        (clear, set): (u32, u32),
        order: (Ordering, Ordering),
    ) -> Result<u32, u32> {
        let next = |state| if state & unless == 0 { Some(state & !clear | set) } else { None };
        self.0.fetch_update(order.0, order.1, next)
    }

    /// Asks a claimed closure to stop, or a future to be dropped, for this cause.
    ///
    /// Returns `true` for the first request, unless the task has ended.
    pub(crate) fn request_stop(&self, cause: Cause) -> bool {
        let request = STOP_REQUESTED | (cause as u32) << CAUSE;
        // Ordering: Release pairs with the Acquire in `is_stop_requested`: everything before the request is seen with it.
        let order = (Ordering::Release, Ordering::Relaxed);
        self.change_unless(STOP_REQUESTED | DONE, (0, request), order).is_ok()
    }

    /// Returns whether the task is asked to stop.
    #[inline]
    pub(crate) fn is_stop_requested(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `request_stop`.
        self.0.load(Ordering::Acquire) & STOP_REQUESTED != 0
    }

    /// Returns the cause of the first request to stop, if any.
    pub(crate) fn stop_cause(&self) -> Option<Cause> {
        // Ordering: Acquire, as in `is_stop_requested`.
        let state = self.0.load(Ordering::Acquire);
        (state & STOP_REQUESTED != 0).then(|| Cause::of_number((state >> CAUSE) as usize))
    }

    /// Asks an unfinished future to stop for this cause; returns the cause of the first request.
    pub(crate) fn stop_for(&self, cause: Cause) -> Cause {
        _ = self.request_stop(cause);
        self.stop_cause().unwrap_or(cause)
    }

    /// Marks the result as written.
    pub(crate) fn finish(&self) -> Finished {
        // Ordering: Release pairs with the Acquires of `DONE` below, for the result; Acquire pairs with the Release in
        // `offer_slot`, for the waker.
        Finished::after(self.0.fetch_or(DONE, Ordering::AcqRel))
    }

    /// Marks the result of a future as written, unless it was asked to stop before: then it is cancelled, and `None`.
    pub(crate) fn finish_unless_stopped(&self) -> Option<Finished> {
        // Ordering: AcqRel, as in `finish`; Acquire on failure, as in `is_stop_requested`.
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let before = self.change_unless(STOP_REQUESTED, (0, DONE), order).ok()?;
        Some(Finished::after(before))
    }

    /// Returns whether the result has been written.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `finish`.
        self.0.load(Ordering::Acquire) & DONE != 0
    }

    /// Takes the waker slot back from the finisher; returns the kind of content, or `None` if the result has been written.
    #[must_use]
    pub(super) fn reclaim_slot(&self) -> Option<Filled> {
        let is_offered = |state| state & DONE == 0 && state & (WAKER | MEMBER) != 0;
        let next = |state| is_offered(state).then_some(state & !(WAKER | MEMBER));
        // Ordering: Acquire on failure, for the result, as in `is_done`; a success reads only the handle's own writes.
        let (Ok(before) | Err(before)) =
            self.0.fetch_update(Ordering::Acquire, Ordering::Acquire, next);
        (before & DONE == 0).then(|| Filled::of(before))
    }

    /// Gives the filled waker slot to the finisher; `false` if the task is finished, and nothing will wake it.
    #[must_use]
    pub(super) fn offer_slot(&self, filled: Filled) -> bool {
        let bit = if let Filled::Member = filled { MEMBER } else { WAKER };
        // Ordering: Release pairs with the Acquire in `finish`, for the waker; Acquire on failure, for the result.
        self.change_unless(DONE, (0, bit), (Ordering::AcqRel, Ordering::Acquire)).is_ok()
    }

    /// Clears the handle's bit if the task is unfinished; `false` if the result has been written.
    ///
    /// After `true` the cell belongs to the job alone.
    #[must_use]
    pub(super) fn abandon(&self) -> bool {
        // Ordering: Release: the handle's last use comes before the job frees the cell. Acquire on failure, for the
        // result.
        self.change_unless(DONE, (HANDLE, 0), (Ordering::AcqRel, Ordering::Acquire)).is_ok()
    }

    /// Adds the canceller's side, by the handle; `false` if there is or was a canceller.
    #[must_use]
    pub(super) fn add_canceller(&self) -> bool {
        // Ordering: Relaxed: the handle keeps the cell alive, and the canceller is passed on in a synchronised way.
        self.0.fetch_or(CANCELLER, Ordering::Relaxed) & CANCELLER == 0
    }

    /// Adds the side of a second job of a closure, by the handle; `false` if there is one, or the closure has been claimed.
    #[must_use]
    pub(super) fn add_second(&self) -> bool {
        // Ordering: Relaxed, as in `add_canceller`.
        let order = (Ordering::Relaxed, Ordering::Relaxed);
        self.change_unless(CLAIMED | SECOND, (0, SECOND), order).is_ok()
    }

    /// The class of the job.
    #[inline]
    pub(crate) fn class(&self) -> u8 {
        // Ordering: Relaxed: the job is queued by it, and the wake after the change of a future's class orders them.
        (self.0.load(Ordering::Relaxed) >> CLASS) as u8 & 3
    }

    /// Sets the class of the job, unless it has been set.
    pub(crate) fn note_class(&self, class: u8) {
        if self.class() == 0 {
            let order = (Ordering::Relaxed, Ordering::Relaxed);
            _ = self.change_unless(3 << CLASS, (0, u32::from(class & 3) << CLASS), order);
        }
    }

    /// Changes the class of the job.
    pub(crate) fn set_class(&self, class: u8) {
        let next = |state| Some(state & !(3 << CLASS) | u32::from(class & 3) << CLASS);
        // Ordering: Relaxed, as in `class`.
        _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Releases a side, of which `side` is the bit; `true` if the caller must free the cell. The handle's is released so only once the
    /// task is finished.
    #[must_use]
    pub(super) fn release(&self, side: u32) -> bool {
        let others = SIDES & !side;
        // If the others have released the cell, no other thread looks at the state any more: only a handle adds a canceller.
        // Ordering: Acquire, AcqRel: the last uses of the other sides come before the free.
        self.0.load(Ordering::Acquire) & others == 0
            || self.0.fetch_and(!side, Ordering::AcqRel) & others == 0
    }
}
