//! What refers to a future, and wakes it.

use core::mem::{self, ManuallyDrop};
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};

use crate::cell::Header;
use crate::cell::turn::{Release, Wake};

/// Refers to a future that has been spawned, in one word, and wakes it as its wakers do.
///
/// **Reference rule.** It is one of the references that the word of the turn counts, so the future's memory is there as long
/// as it is; the word says who has the last.
pub struct TaskRef(NonNull<Header>);

// SAFETY: what it does it does by the word of the turn, except that it makes the future's job, which is `Send`, and frees
// memory in which nothing is left.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// Takes a reference for one who has the turn.
    ///
    /// # Safety
    /// Turn rule: the caller has the turn at this future.
    pub(super) unsafe fn new(header: NonNull<Header>) -> Self {
        // SAFETY: by the caller, who has a reference.
        unsafe { header.as_ref() }.turn.acquire();
        Self(header)
    }

    fn header(&self) -> &Header {
        // SAFETY: Reference rule.
        unsafe { self.0.as_ref() }
    }

    /// Wakes the future: it is polled soon, if it has not ended.
    pub fn wake(self) {
        let this = ManuallyDrop::new(self);
        match this.header().turn.wake() {
            // SAFETY: Turn rule: the job is ours to make.
            Wake::Schedule => unsafe { schedule(this.0) },
            Wake::Known => {}
            // SAFETY: Reference rule: this was the last one, and is used no more.
            Wake::Last => unsafe { Header::release_job(this.0) },
        }
    }

    /// The same, and keeps the reference.
    pub fn wake_by_ref(&self) {
        if self.header().turn.wake_by_ref() {
            // SAFETY: Turn rule: the job is ours to make.
            unsafe { schedule(self.0) };
        }
    }

    fn into_raw(self) -> RawWaker {
        RawWaker::new(ManuallyDrop::new(self).0.as_ptr().cast_const().cast(), &VTABLE)
    }

    /// Takes the reference of a waker, or looks at it.
    ///
    /// # Safety
    /// The pointer is that of a waker made here, whose reference nobody else uses at the same time or, if this one is
    /// dropped, afterwards.
    unsafe fn from_raw(pointer: *const ()) -> Self {
        // SAFETY: by the caller: it was no null pointer.
        Self(unsafe { NonNull::new_unchecked(pointer.cast_mut().cast()) })
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        self.header().turn.acquire();
        Self(self.0)
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        match self.header().turn.release() {
            Release::Kept => {}
            // SAFETY: Reference rule: this was the last one.
            Release::Last => unsafe { Header::release_job(self.0) },
            Release::Forsaken => {
                // Nobody else could wake it: as if its handle had asked.
                _ = self.header().state.ask();
                // SAFETY: Turn rule: the job is ours to make.
                unsafe { schedule(self.0) };
            }
        }
    }
}

impl From<TaskRef> for Waker {
    fn from(task: TaskRef) -> Self {
        // SAFETY: the functions do what wakers have to, on any thread, with the reference that the pointer stands for.
        unsafe { Self::from_raw(task.into_raw()) }
    }
}

impl core::fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("TaskRef").field(&self.0).finish()
    }
}

/// Makes the job of a future, and takes it to its home.
///
/// # Safety
/// Turn rule: the job is the caller's to make.
unsafe fn schedule(header: NonNull<Header>) {
    // SAFETY: the job that is to be made keeps it.
    let Some(schedule) = (unsafe { header.as_ref() }).vtable.schedule else {
        unreachable!("it is a future")
    };
    // SAFETY: by the caller.
    unsafe { schedule(header) };
}

/// Calls with a waker of a future for the length of a poll; it counts none.
///
/// # Safety
/// Turn rule: the caller has the turn at this future, for the length of the call.
pub(super) unsafe fn with_waker<R>(header: NonNull<Header>, call: impl FnOnce(&Waker) -> R) -> R {
    let raw = RawWaker::new(header.as_ptr().cast_const().cast(), &VTABLE);
    // SAFETY: as in `From`; it is never dropped, so it needs no reference but the caller's.
    call(&ManuallyDrop::new(unsafe { Waker::from_raw(raw) }))
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_reference);

/// # Safety
/// For this and the next ones, by the contract of wakers: the pointer is that of a waker made here; `wake` and
/// `drop_reference` are the last that is done with it.
unsafe fn clone(pointer: *const ()) -> RawWaker {
    // SAFETY: by the caller; it is not dropped.
    let task = ManuallyDrop::new(unsafe { TaskRef::from_raw(pointer) });
    TaskRef::clone(&task).into_raw()
}

/// # Safety
/// As for `clone`.
unsafe fn wake(pointer: *const ()) {
    // SAFETY: by the caller.
    unsafe { TaskRef::from_raw(pointer) }.wake();
}

/// # Safety
/// As for `clone`.
unsafe fn wake_by_ref(pointer: *const ()) {
    // SAFETY: by the caller; it is not dropped.
    ManuallyDrop::new(unsafe { TaskRef::from_raw(pointer) }).wake_by_ref();
}

/// # Safety
/// As for `clone`.
unsafe fn drop_reference(pointer: *const ()) {
    // SAFETY: by the caller.
    mem::drop(unsafe { TaskRef::from_raw(pointer) });
}
