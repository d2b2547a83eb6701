//! References to a future, which wake it.

use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};
use core::task::{RawWaker, RawWakerVTable, Waker};

use crate::act::Outcome;
use crate::cause::Cause;
use crate::cell::Header;
use crate::cell::lifecycle::{Dropped, Wake};
use crate::cell::state::JOB;

/// A reference to a spawned future, as large as a pointer, which wakes it like a waker.
///
/// **Reference rule.** The lifecycle counts it, so the memory of the future lives as long as the reference. The
/// lifecycle tells which reference is the last.
pub struct TaskRef(NonNull<Header>);

// SAFETY: it changes the lifecycle, which is atomic. Beyond that it makes the future's job, which is `Send`, and frees
// memory whose content has been dropped.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// Creates a reference for a holder of the access.
    ///
    /// # Safety
    /// Access rule: the caller must have the access to this future.
    pub(super) unsafe fn new(header: NonNull<Header>) -> Self {
        // SAFETY: the caller has a reference.
        unsafe { header.as_ref() }.lifecycle.add_reference();
        Self(header)
    }

    /// Takes the reference of a job.
    ///
    /// # Safety
    /// The caller must have a job of this future, and consume it.
    pub(super) unsafe fn of_job(header: NonNull<Header>) -> Self {
        Self(header)
    }

    fn header(&self) -> &Header {
        // SAFETY: Reference rule.
        unsafe { self.0.as_ref() }
    }

    /// Wakes the future, which is polled soon unless it has ended; consumes the reference.
    pub fn wake(self) {
        let this = ManuallyDrop::new(self);
        match this.header().lifecycle.wake() {
            // SAFETY: Access rule: `wake` told the caller to make the job.
            Wake::Schedule => unsafe { schedule(this.0) },
            Wake::AlreadyScheduled => {}
            // SAFETY: Reference rule: this was the last reference, and is not used again.
            Wake::LastReference => unsafe { Header::release(this.0, JOB) },
        }
    }

    /// Wakes the future, which is polled soon unless it has ended.
    pub fn wake_by_ref(&self) {
        if self.header().lifecycle.wake_by_ref() {
            // SAFETY: Access rule: `wake_by_ref` told the caller to make the job.
            unsafe { schedule(self.0) };
        }
    }

    /// Wakes the future, and cancels it if it waits, because the pool [ends](Cause::Ended). A future being polled is not cancelled if
    /// the poll makes it ready.
    pub fn cancel_waiting(&self) {
        if self.header().lifecycle.wake_by_ref() {
            _ = self.header().state.request_stop(Cause::Ended);
            // SAFETY: Access rule: `wake_by_ref` told the caller to make the job.
            unsafe { schedule(self.0) };
        }
    }

    /// Cancels the future on this thread if it waits or is queued, because the pool [ends](Cause::Ended), and wakes it if it is being
    /// polled. A [local](crate::Schedule::IS_LOCAL) future is left to the thread of its creation, as by
    /// [`cancel_waiting`](Self::cancel_waiting).
    pub fn end(&self) {
        let Header { lifecycle, vtable, .. } = self.header();
        if vtable.future.is_some_and(|future| future.is_local) {
            self.cancel_waiting();
        } else if lifecycle.claim_or_wake() {
            // SAFETY: claimed just now; Reference rule.
            _ = unsafe { Header::settle(self.0, Some(Cause::Ended)) };
        }
    }

    /// Whether this is the waker of a spawned future, which calls no other code than the future's
    /// [scheduler](crate::Schedule).
    #[inline]
    pub fn wakes(waker: &Waker) -> bool {
        ptr::eq(waker.vtable(), &VTABLE)
    }

    /// Polls the future on this thread if it is queued and has been polled before, or cancels it if it must `stop`; `None` if
    /// it is not queued. The job in the queue becomes [stale](Outcome::Stale).
    pub fn settle_if_queued(&self, stop: Option<Cause>) -> Option<Outcome> {
        let is_claimed = self.header().lifecycle.claim(|is_unpolled| !is_unpolled);
        // SAFETY: claimed just now; Reference rule.
        is_claimed.then(|| unsafe { Header::settle(self.0, stop) })
    }

    /// Whether the future is queued, at this moment.
    pub fn is_queued(&self) -> bool {
        self.header().lifecycle.is_queued()
    }

    /// Whether the future waits, at this moment.
    pub fn is_waiting(&self) -> bool {
        self.header().lifecycle.is_idle()
    }

    fn into_raw(self) -> RawWaker {
        RawWaker::new(ManuallyDrop::new(self).0.as_ptr().cast_const().cast(), &VTABLE)
    }

    /// Converts the data of a waker back to the reference.
    ///
    /// # Safety
    /// The pointer must be the data of a waker created here. The waker's reference must not be used elsewhere as
    /// long as the returned value exists nor, if the value is dropped, afterwards.
    unsafe fn from_raw(pointer: *const ()) -> Self {
        // SAFETY: guaranteed by the caller: it was no null pointer.
        Self(unsafe { NonNull::new_unchecked(pointer.cast_mut().cast()) })
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        self.header().lifecycle.add_reference();
        Self(self.0)
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        match self.header().lifecycle.drop_reference() {
            Dropped::Referenced => {}
            // SAFETY: Reference rule: this was the last reference.
            Dropped::LastReference => unsafe { Header::release(self.0, JOB) },
            Dropped::Orphaned => {
                // Nothing else could wake it, not even the scheduler, so it is cancelled.
                _ = self.header().state.request_stop(Cause::Ended);
                // SAFETY: Access rule: `drop_reference` told the caller to make the job.
                unsafe { schedule(self.0) };
            }
        }
    }
}

impl From<TaskRef> for Waker {
    fn from(task: TaskRef) -> Self {
        // SAFETY: the functions keep the contract of wakers, on any thread, with the reference behind the pointer.
        unsafe { Self::from_raw(task.into_raw()) }
    }
}

brigade_sync::opaque!(TaskRef: is_waiting);

/// Makes the job of a future and passes it to the scheduler.
///
/// # Safety
/// Access rule: the caller must make the job.
unsafe fn schedule(header: NonNull<Header>) {
    // SAFETY: the reference that the job will have keeps the memory alive.
    let Some(future) = (unsafe { header.as_ref() }).vtable.future else {
        unreachable!("it is a future")
    };
    // SAFETY: guaranteed by the caller.
    unsafe { (future.schedule)(header) };
}

/// Calls `call` with a waker of a future, which counts no reference.
///
/// # Safety
/// Access rule: the caller must have the access to this future for the length of the call.
pub(super) unsafe fn with_waker<R>(header: NonNull<Header>, call: impl FnOnce(&Waker) -> R) -> R {
    let raw = RawWaker::new(header.as_ptr().cast_const().cast(), &VTABLE);
    // SAFETY: as in `From`; it is never dropped, so it needs no reference but the caller's.
    call(&ManuallyDrop::new(unsafe { Waker::from_raw(raw) }))
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_reference);

/// # Safety
/// For this and the next functions, by the contract of wakers: the pointer must be the data of a waker created here.
/// After `wake` and `drop_reference` the waker must not be used again.
unsafe fn clone(pointer: *const ()) -> RawWaker {
    // SAFETY: guaranteed by the caller; it is not dropped.
    let task = ManuallyDrop::new(unsafe { TaskRef::from_raw(pointer) });
    TaskRef::clone(&task).into_raw()
}

/// # Safety
/// As for `clone`.
unsafe fn wake(pointer: *const ()) {
    // SAFETY: guaranteed by the caller.
    unsafe { TaskRef::from_raw(pointer) }.wake();
}

/// # Safety
/// As for `clone`.
unsafe fn wake_by_ref(pointer: *const ()) {
    // SAFETY: guaranteed by the caller; it is not dropped.
    ManuallyDrop::new(unsafe { TaskRef::from_raw(pointer) }).wake_by_ref();
}

/// # Safety
/// As for `clone`.
unsafe fn drop_reference(pointer: *const ()) {
    // SAFETY: guaranteed by the caller.
    mem::drop(unsafe { TaskRef::from_raw(pointer) });
}
