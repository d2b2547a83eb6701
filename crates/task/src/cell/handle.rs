//! The handle's side of a cell, and the canceller's.

use core::mem;
use core::ptr::NonNull;
use core::task::Waker;

use super::frames::JobId;
use super::header::Header;
use super::state::WakerSlot;
use crate::act::Outcome;
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

    /// Claims the closure and runs it on this thread, or drops it; `None` if it was claimed before.
    pub(crate) fn settle_if_unclaimed(&self, run: bool) -> Option<Outcome> {
        // SAFETY: Life rule: the handle is alive.
        unsafe { settle_if_unclaimed(self.0, run) }
    }

    /// Asks a claimed closure to stop, or wakes a future to be dropped.
    ///
    /// Returns `true` for the first request, unless the job has ended.
    pub(crate) fn request_stop(&self) -> bool {
        // SAFETY: Life rule: the handle is alive.
        unsafe { request_stop(self.0) }
    }

    /// Adds the canceller's side; `None` if there is or was one.
    pub(crate) fn canceller(&self) -> Option<RawCanceller> {
        self.header().state.add_canceller().then_some(RawCanceller(self.0))
    }

    /// Returns whether the job is a future.
    pub(crate) fn is_of_future(&self) -> bool {
        self.header().vtable.schedule.is_some()
    }

    /// Stores a waker to be woken with the result; `false` if the result has been written.
    pub(crate) fn wait_with(&self, waker: &Waker) -> bool {
        // User code, so before the slot is taken.
        let waker = waker.clone();
        let WakerSlot::Owned { .. } = self.header().state.reclaim_slot() else {
            return false;
        };
        let former = self.swap_waker(Some(waker));
        let offered = self.header().state.offer_waker();
        let unused = if offered { None } else { self.swap_waker(None) };
        // User code, so after the slot has been returned.
        drop((former, unused));
        offered
    }

    fn swap_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.header().waker.with_mut(|slot| {
            // SAFETY: Slot rule: `WAKER` is clear, guaranteed by both callers.
            mem::replace(unsafe { &mut *slot }, waker)
        })
    }

    /// Leaves an unfinished task to its job; `false`, without an effect, if the result has been written.
    ///
    /// After `true` the handle must not be used again.
    #[must_use]
    pub(crate) fn abandon(&self) -> bool {
        let former = match self.header().state.reclaim_slot() {
            WakerSlot::Owned { filled: true } => self.swap_waker(None),
            _ => None,
        };
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
    pub(crate) fn request_stop(&self) -> bool {
        // SAFETY: Life rule: the canceller is alive.
        unsafe { request_stop(self.0) }
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

/// Claims the closure of a cell and runs it on this thread, or drops it; `None` if it was claimed before.
///
/// # Safety
/// Life rule: the caller's side must be alive, and be the handle's to run it.
unsafe fn settle_if_unclaimed(cell: NonNull<Header>, run: bool) -> Option<Outcome> {
    // SAFETY: guaranteed by the caller.
    let header = unsafe { cell.as_ref() };
    let settle = header.vtable.settle;
    // SAFETY: claimed just now; the vtable is the cell's.
    header.state.claim().then(|| unsafe { settle(cell, run) })
}

/// Asks a claimed closure to stop, or wakes a future to be dropped; `true` for the first request, unless the job has ended.
///
/// # Safety
/// Life rule: the caller's side must be alive.
unsafe fn request_stop(cell: NonNull<Header>) -> bool {
    // SAFETY: guaranteed by the caller.
    let header = unsafe { cell.as_ref() };
    let is_first = header.state.request_stop();
    // A future is woken to be dropped; it need not have a waker.
    if let Some(schedule) = header.vtable.schedule.filter(|_| is_first) {
        // It may have ended in the meantime: then there is no job to make.
        if header.lifecycle.wake_by_ref() {
            // SAFETY: Life rule: the caller's side is alive; Access rule: `wake_by_ref` returned that the caller must make the
            // job.
            unsafe { schedule(cell) };
        }
    }
    is_first
}
