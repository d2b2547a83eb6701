//! The side of a cell that belongs to the handle, or to the canceller.

use core::ptr::NonNull;
use core::task::Waker;
use std::sync::Arc;

use brigade_sync::awaited::{Awaited, note};

use super::completed::{CompletedList, Member};
use super::frames::JobId;
use super::header::{Content, Header};
use super::state::Filled;
use crate::act::{Asked, Outcome};
use crate::cause::Cause;
use crate::contain::drop_contained;

/// The handle's side of a cell, without the type of the result. Or the canceller's, which must leave the result and the waker slot to the
/// handle.
pub(crate) struct RawHandle(NonNull<Header>);

impl RawHandle {
    /// Takes the handle's side of a cell.
    pub(crate) fn new(header: NonNull<Header>) -> Self {
        Self(header)
    }

    /// Returns the side once more.
    ///
    /// # Safety
    /// Life rule: only the returned side may be used from now on.
    pub(crate) unsafe fn duplicate(&self) -> Self {
        Self(self.0)
    }

    fn header(&self) -> &Header {
        // SAFETY: Life rule: the side is alive.
        unsafe { self.0.as_ref() }
    }

    /// Returns the id of the job.
    pub(crate) fn id(&self) -> JobId {
        JobId::of(&self.header().state)
    }

    /// Returns whether the result has been written.
    #[inline]
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

    /// Claims the closure, or a queued future, and runs it on this thread, or drops it for the cause `stop`; `None` if it
    /// was claimed before.
    pub(crate) fn settle_if_unclaimed(&self, stop: Option<Cause>) -> Option<Outcome> {
        let Header { state, vtable, .. } = self.header();
        if vtable.future.is_some() {
            return self.settle_future_if_unclaimed(stop);
        }
        // SAFETY: claimed just now; the vtable is the cell's.
        state.claim().then(|| unsafe { (vtable.settle)(self.0, stop, None) })
    }

    /// Like [`settle_if_unclaimed`](Self::settle_if_unclaimed), for a future.
    #[inline(never)]
    fn settle_future_if_unclaimed(&self, stop: Option<Cause>) -> Option<Outcome> {
        let Header { state, lifecycle, .. } = self.header();
        // The first job of a future may have to say whether it may start.
        let may_claim = |is_unpolled: bool| !(stop.is_none() && is_unpolled && state.decides());
        // SAFETY: claimed just now; Life rule.
        lifecycle.claim(may_claim).then(|| unsafe { Header::settle(self.0, stop) })
    }

    /// Asks a claimed closure to stop; drops an unpolled future if it `may_drop`, or wakes it to be dropped.
    pub(crate) fn request_stop(&self, may_drop: bool, cause: Cause) -> Asked {
        let Header { state, lifecycle, vtable, .. } = self.header();
        if !state.request_stop(cause) {
            return Asked::Nothing;
        }
        let Some(future) = vtable.future else { return Asked::ToStop };
        // SAFETY: Life rule: the side is alive; the vtable is the cell's.
        let may_drop = may_drop && unsafe { (future.is_here)(self.0) };
        if may_drop && lifecycle.claim(|is_unpolled| is_unpolled) {
            // SAFETY: claimed just now; Life rule.
            unsafe { Header::settle(self.0, Some(cause)) };
            return Asked::Dropped;
        }
        // It is woken to be dropped; it need not have a waker. It may have ended in the meantime: then there is no job to make.
        if lifecycle.wake_by_ref() {
            // SAFETY: Life rule: the side is alive; Access rule: `wake_by_ref` returned that the caller must make the job.
            unsafe { (future.schedule)(self.0) };
        }
        Asked::ToStop
    }

    /// The class of the job.
    pub(crate) fn class(&self) -> u8 {
        self.header().state.class()
    }

    /// Changes the class of an unclaimed closure or an unfinished future. Returns the cell if the caller must make a
    /// further job, for which a side or a reference has been added.
    pub(crate) fn raise(&self, class: u8) -> Option<NonNull<Header>> {
        let Header { state, lifecycle, vtable, .. } = self.header();
        state.set_class(class);
        let Some(future) = vtable.future else { return state.add_second().then_some(self.0) };
        // What the guard of the first job holds, a further job would not give back.
        let may_be_first = !state.holds() && !state.decides();
        if lifecycle.add_job(may_be_first) {
            return Some(self.0);
        }
        // An idle future may wait for jobs, which its poll raises.
        if lifecycle.wake_by_ref() {
            // SAFETY: Life rule: the side is alive; Access rule: `wake_by_ref` returned that the caller must make the job.
            unsafe { (future.schedule)(self.0) };
        }
        None
    }

    /// Adds the canceller's side; `None` if there is or was a canceller.
    pub(crate) fn canceller(&self) -> Option<Self> {
        self.header().state.add_canceller().then_some(Self(self.0))
    }

    /// Returns whether the job is a future.
    pub(crate) fn is_of_future(&self) -> bool {
        self.header().vtable.future.is_some()
    }

    /// Returns whether the job is a queued future that the handle may poll.
    pub(crate) fn is_queued(&self) -> bool {
        let Header { state, lifecycle, .. } = self.header();
        let is_left_to_job = || state.decides() && lifecycle.is_unpolled();
        self.is_of_future() && lifecycle.is_queued() && !is_left_to_job()
    }

    /// Stores a waker to be woken with the result; `false` if the result has been written.
    pub(crate) fn wait_with(&self, waker: &Waker) -> bool {
        self.offer(Content::Waker(waker.clone()))
    }

    /// Like `wait_with`, for a future whose poll ends waiting.
    // Not inlined, so no function that polls a handle contains the note.
    #[inline(never)]
    pub(crate) fn await_with(&self, waker: &Waker) -> bool {
        let waits = self.wait_with(waker);
        if waits {
            note(|| Awaited::Job(self.id().into()));
        }
        waits
    }

    /// Makes the cell a member of a set: the key is listed with the result; `false` if the result has been written.
    pub(crate) fn report_to(&self, list: &Arc<CompletedList>, key: usize) -> bool {
        self.offer(Content::Member(Member { list: list.clone(), key }))
    }

    /// Replaces the content of the slot; `false` if the result has been written.
    #[inline(always)]
    fn offer(&self, content: Content) -> bool {
        // User code is called before the slot is taken, and after it has been returned.
        let Some(former) = self.empty_slot() else { return false };
        // SAFETY: Slot rule: emptied just now.
        let filled = unsafe { self.header().fill(content) };
        let offered = self.header().state.offer_slot(filled);
        // SAFETY: Slot rule: not offered, so the content is still the handle's.
        let unused = (!offered).then(|| unsafe { self.header().empty(filled) });
        drop((former, unused));
        offered
    }

    /// Like `report_to`, for a new closure.
    ///
    /// # Safety
    /// The cell must belong to a new closure, unknown to other threads.
    pub(crate) unsafe fn begin_as_member(&self, list: Arc<CompletedList>, key: usize) {
        // SAFETY: Slot rule: the cell is new, guaranteed by the caller.
        _ = unsafe { self.header().fill(Content::Member(Member { list, key })) };
        self.header().state.begin_as_member();
    }

    /// Claims the closure of a member, takes the cell out of the set, and runs the closure on this thread, or drops it for the cause
    /// `stop`; `None` if it was claimed before or is no member.
    pub(crate) fn leave_and_settle(&self, stop: Option<Cause>) -> Option<Outcome> {
        if !self.header().state.claim_and_leave() {
            return None;
        }
        // SAFETY: Slot rule: `MEMBER` was cleared just now.
        drop(unsafe { self.header().empty(Filled::Member) });
        // SAFETY: claimed just now; Life rule.
        Some(unsafe { Header::settle(self.0, stop) })
    }

    /// Empties the slot; `false` if the result has been written.
    pub(crate) fn leave(&self) -> bool {
        self.empty_slot().map(drop_contained).is_some()
    }

    /// Takes the slot back and empties it; returns the content. `None` if the result has been written.
    fn empty_slot(&self) -> Option<Content> {
        let filled = self.header().state.reclaim_slot()?;
        // SAFETY: Slot rule: reclaimed just now.
        Some(unsafe { self.header().empty(filled) })
    }

    /// Leaves an unfinished task to the job; `false`, without an effect, if the result has been written.
    ///
    /// After `true` the handle must not be used again.
    #[must_use]
    pub(crate) fn abandon(&self) -> bool {
        let former = self.empty_slot();
        let abandoned = self.header().state.abandon();
        // User code, so after our last use of the cell.
        drop_contained(former);
        abandoned
    }

    /// Releases this side, of which `side` is the bit.
    ///
    /// # Safety
    /// Life rule: it must not be used again. The handle's side is released so only once the task is finished and the result has been
    /// taken.
    pub(crate) unsafe fn release(&self, side: u32) {
        // SAFETY: guaranteed by the caller.
        unsafe { Header::release(self.0, side) };
    }
}
