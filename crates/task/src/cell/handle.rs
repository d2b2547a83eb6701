//! The handle's side of a cell, and the canceller's.

use core::ptr::NonNull;
use core::task::Waker;
use std::sync::Arc;

use super::completed::{self, CompletedList};
use super::frames::JobId;
use super::header::Header;
use super::state::Content;
use crate::act::{Asked, Outcome};
use crate::contain::drop_contained;

/// The handle's side of a cell, without the type of the result.
pub(crate) struct RawHandle(NonNull<Header>);

impl RawHandle {
    /// Takes the handle's side of a cell.
    pub(crate) fn new(header: NonNull<Header>) -> Self {
        Self(header)
    }

    fn header(&self) -> &Header {
        // SAFETY: Life rule: the handle is alive.
        unsafe { self.0.as_ref() }
    }

    /// Returns the id of the job.
    pub(crate) fn id(&self) -> JobId {
        JobId::of(&self.header().state)
    }

    /// Returns whether the result has been written.
    pub(crate) fn is_done(&self) -> bool {
        self.header().state.is_done()
    }

    /// Moves the result to `out`.
    ///
    /// # Safety
    /// The result must have been written and not been taken. `out` must have room for a `Result<T, JoinError>` of the
    /// cell's `T`.
    pub(crate) unsafe fn take(&self, out: *mut ()) {
        // SAFETY: guaranteed by the caller; the vtable is the cell's.
        unsafe { (self.header().vtable.take)(self.0, out) };
    }

    /// Claims the closure, or the future if that is queued, and runs it on this thread, or drops it; `None` if it was claimed before.
    pub(crate) fn settle_if_unclaimed(&self, run: bool) -> Option<Outcome> {
        // SAFETY: Life rule: the handle is alive.
        unsafe { settle_if_unclaimed(self.0, run) }
    }

    /// Asks a claimed closure to stop; drops a future that has not been polled if it `may_drop`, or wakes it to be dropped.
    pub(crate) fn request_stop(&self, may_drop: bool) -> Asked {
        // SAFETY: Life rule: the handle is alive.
        unsafe { request_stop(self.0, may_drop) }
    }

    /// Adds the canceller's side; `None` if there is or was one.
    pub(crate) fn canceller(&self) -> Option<RawCanceller> {
        self.header().state.add_canceller().then_some(RawCanceller(self.0))
    }

    /// Returns whether the job is a future.
    pub(crate) fn is_of_future(&self) -> bool {
        self.header().vtable.schedule.is_some()
    }

    /// Returns whether the job is a future that is queued, and that the handle may poll.
    pub(crate) fn is_queued(&self) -> bool {
        let Header { state, lifecycle, .. } = self.header();
        let is_left_to_job = || state.decides() && lifecycle.is_unpolled();
        self.is_of_future() && lifecycle.is_queued() && !is_left_to_job()
    }

    /// Stores a waker to be woken with the result; `false` if the result has been written.
    pub(crate) fn wait_with(&self, waker: &Waker) -> bool {
        // User code, so before the slot is taken.
        let waker = waker.clone();
        let Some(former) = self.empty_slot() else { return false };
        // SAFETY: Slot rule: emptied just now.
        unsafe { self.header().swap_waker(Some(waker)) };
        let offered = self.header().state.offer_slot(Content::Waker);
        // SAFETY: Slot rule: not offered, so the waker is still the handle's.
        let unused = if offered { None } else { unsafe { self.header().swap_waker(None) } };
        // User code, so after the slot has been returned.
        drop((former, unused));
        offered
    }

    /// Makes the cell a member of a set: it is pushed to the list with its result; `false` if the result has been written.
    pub(crate) fn report_to(&self, list: &Arc<CompletedList>, key: usize) -> bool {
        let Some(former) = self.empty_slot() else { return false };
        // SAFETY: Slot rule: emptied just now.
        unsafe { completed::refer_to(list.clone(), self.header(), key) };
        let offered = self.header().state.offer_slot(Content::Link);
        if !offered {
            // SAFETY: Slot rule: not offered, so the link is still the handle's.
            unsafe { completed::leave(self.header()) };
        }
        drop(former);
        offered
    }

    /// Like `report_to`, for a new closure.
    ///
    /// # Safety
    /// The cell must be that of a new closure, and no other thread may know it.
    pub(crate) unsafe fn begin_as_member(&self, list: Arc<CompletedList>, key: usize) {
        // SAFETY: Slot rule: the slot is that of a new cell, guaranteed by the caller.
        unsafe { completed::refer_to(list, self.header(), key) };
        self.header().state.begin_as_member();
    }

    /// Claims the closure of a member, takes the cell out of its set, and runs the closure on this thread, or drops it; `None`
    /// if it was claimed before or is no member.
    pub(crate) fn leave_and_settle(&self, run: bool) -> Option<Outcome> {
        if !self.header().state.claim_and_leave() {
            return None;
        }
        // SAFETY: Slot rule: `MEMBER` was cleared just now.
        unsafe { completed::leave(self.header()) };
        // SAFETY: claimed just now; the vtable is the cell's.
        Some(unsafe { (self.header().vtable.settle)(self.0, run) })
    }

    /// Empties the slot; `false` if the result has been written.
    pub(crate) fn leave(&self) -> bool {
        self.empty_slot().map(drop_contained).is_some()
    }

    /// Takes the slot back and empties it; returns the waker that was in it. `None` if the result has been written.
    fn empty_slot(&self) -> Option<Option<Waker>> {
        match self.header().state.reclaim_slot()? {
            Content::Nothing => Some(None),
            // SAFETY: Slot rule: `WAKER` was cleared just now.
            Content::Waker => Some(unsafe { self.header().swap_waker(None) }),
            Content::Link => {
                // SAFETY: Slot rule: `MEMBER` was cleared just now.
                unsafe { completed::leave(self.header()) };
                Some(None)
            }
        }
    }

    /// Leaves an unfinished task to its job; `false`, without an effect, if the result has been written.
    ///
    /// After `true` the handle must not be used again.
    #[must_use]
    pub(crate) fn abandon(&self) -> bool {
        let former = self.empty_slot().flatten();
        let abandoned = self.header().state.abandon();
        // User code, so after our last use of the cell.
        drop_contained(former);
        abandoned
    }

    /// Releases a finished task whose result has been taken; the handle must not be used again.
    pub(crate) fn release(&self) {
        let free = self.header().vtable.free;
        if self.header().state.release_handle() {
            // SAFETY: Life rule: both sides have been released.
            unsafe { free(self.0) };
        }
    }
}

/// The side of a cell that cancels it, beside the handle; released when it is dropped.
pub(crate) struct RawCanceller(NonNull<Header>);

// SAFETY: it only changes the state, and claims the closure, which is `Send`, to drop it; a future is dropped by its scheduler.
unsafe impl Send for RawCanceller {}
// SAFETY: all that it does is decided by an atomic.
unsafe impl Sync for RawCanceller {}

impl RawCanceller {
    fn header(&self) -> &Header {
        // SAFETY: Life rule: the canceller is alive.
        unsafe { self.0.as_ref() }
    }

    /// Returns whether the result has been written.
    pub(crate) fn is_done(&self) -> bool {
        self.header().state.is_done()
    }

    /// Returns whether the job is a future.
    pub(crate) fn is_of_future(&self) -> bool {
        self.header().vtable.schedule.is_some()
    }

    /// Claims the closure and drops it; `None` if it was claimed before.
    pub(crate) fn drop_if_unclaimed(&self) -> Option<Outcome> {
        // SAFETY: Life rule: the canceller is alive.
        unsafe { settle_if_unclaimed(self.0, false) }
    }

    /// As [`RawHandle::request_stop`].
    pub(crate) fn request_stop(&self, may_drop: bool) -> Asked {
        // SAFETY: Life rule: the canceller is alive.
        unsafe { request_stop(self.0, may_drop) }
    }
}

impl Drop for RawCanceller {
    fn drop(&mut self) {
        let free = self.header().vtable.free;
        if self.header().state.release_canceller() {
            // SAFETY: Life rule: all sides have been released.
            unsafe { free(self.0) };
        }
    }
}

/// Claims the closure of a cell, or the future if that is queued, and runs it on this thread, or drops it; `None` if it was claimed before.
///
/// # Safety
/// Life rule: the caller's side must be alive, and be the handle's to run it.
unsafe fn settle_if_unclaimed(cell: NonNull<Header>, run: bool) -> Option<Outcome> {
    // SAFETY: guaranteed by the caller.
    let header = unsafe { cell.as_ref() };
    let settle = header.vtable.settle;
    let claims = match header.vtable.schedule {
        None => header.state.claim(),
        // The first job of a future may have to say whether it may start.
        Some(_) => {
            header.lifecycle.claim(|is_unpolled| !(run && is_unpolled && header.state.decides()))
        }
    };
    // SAFETY: claimed just now; the vtable is the cell's.
    claims.then(|| unsafe { settle(cell, run) })
}

/// Asks a claimed closure to stop; drops a future that has not been polled if it `may_drop`, or wakes it to be dropped.
///
/// # Safety
/// Life rule: the caller's side must be alive.
unsafe fn request_stop(cell: NonNull<Header>, may_drop: bool) -> Asked {
    // SAFETY: guaranteed by the caller.
    let header = unsafe { cell.as_ref() };
    if !header.state.request_stop() {
        return Asked::Nothing;
    }
    let Some(schedule) = header.vtable.schedule else { return Asked::ToStop };
    if may_drop && header.lifecycle.claim(|is_unpolled| is_unpolled) {
        // SAFETY: claimed just now; the vtable is the cell's.
        unsafe { (header.vtable.settle)(cell, false) };
        return Asked::Dropped;
    }
    // It is woken to be dropped; it need not have a waker. It may have ended in the meantime: then there is no job to make.
    if header.lifecycle.wake_by_ref() {
        // SAFETY: Life rule: the caller's side is alive; Access rule: `wake_by_ref` returned that the caller must make the job.
        unsafe { schedule(cell) };
    }
    Asked::ToStop
}
