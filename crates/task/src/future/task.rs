//! The cell of a future.

use core::future::Future;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use brigade_sync::cell::UnsafeCell;

use crate::cell::Header;
use crate::error::JoinError;

/// The memory shared by a future, its handle and its wakers.
#[repr(C)]
pub(super) struct Task<F: Future, E> {
    /// First: a pointer to the task is also a pointer to the header.
    pub(super) header: Header,
    pub(super) scheduler: E,
    /// The scheduler's key for the future; 0 until it waits. Access rule.
    pub(super) key: UnsafeCell<u32>,
    /// Stage rule.
    pub(super) stage: UnsafeCell<FutureStage<F, F::Output>>,
}

/// The future, then the result; both at the beginning of the union.
#[repr(C)]
pub(super) union FutureStage<F, T> {
    pub(super) future: ManuallyDrop<F>,
    result: ManuallyDrop<Result<T, JoinError>>,
}

impl<F: Future, E> Task<F, E> {
    /// Writes a result over the stage, without dropping what it holds.
    ///
    /// # Safety
    /// Stage rule: the stage must belong to the caller, and its content must have been dropped or moved out.
    pub(super) unsafe fn write(&self, result: Result<F::Output, JoinError>) {
        self.stage.with_mut(|stage| {
            // SAFETY: guaranteed by the caller.
            unsafe { stage.cast::<Result<F::Output, JoinError>>().write(result) };
        });
    }

    /// Moves the result out.
    ///
    /// # Safety
    /// Stage rule: the stage must hold a result that belongs to the caller and has not been read before.
    pub(super) unsafe fn read(&self) -> Result<F::Output, JoinError> {
        self.stage.with_mut(|stage| {
            // SAFETY: guaranteed by the caller.
            unsafe { stage.cast::<Result<F::Output, JoinError>>().read() }
        })
    }
}

/// Moves the result to `out`.
///
/// # Safety
/// The task must have these types and `DONE` be set. The caller must be the handle and not have taken the result before.
pub(super) unsafe fn take<F: Future, E>(header: NonNull<Header>, out: *mut ()) {
    // SAFETY: the types are right, guaranteed by the caller; Life rule.
    let task = unsafe { header.cast::<Task<F, E>>().as_ref() };
    // SAFETY: Stage rule: the result belongs to the handle.
    let result = unsafe { task.read() };
    // SAFETY: `out` has room for a result, guaranteed by the caller.
    unsafe { out.cast::<Result<F::Output, JoinError>>().write(result) };
}

/// Frees the task.
///
/// # Safety
/// The task must have these types, both sides have released it, and the result must have been taken.
pub(super) unsafe fn free<F: Future, E>(header: NonNull<Header>) {
    // The access shows a model a free beside another thread's use.
    // SAFETY: the types are right, guaranteed by the caller; Life rule.
    unsafe { header.cast::<Task<F, E>>().as_ref() }.stage.with_mut(|_| ());
    // SAFETY: it came from a box of this type, and both sides have released it.
    drop(unsafe { Box::from_raw(header.cast::<Task<F, E>>().as_ptr()) });
}
