//! The cell of a future.

use core::future::Future;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use brigade_sync::cell::UnsafeCell;

use crate::cell::Header;
use crate::error::JoinError;

/// The memory shared by a future, its handle and its wakers. Only the head is referred to; the stage is at [`stage`].
#[repr(C)]
pub(super) struct Task<F: Future, E> {
    pub(super) head: Head<E>,
    pub(super) stage: FutureStage<F, F::Output>,
}

/// The part of a task that is independent of the type of the future.
#[repr(C)]
pub(super) struct Head<E> {
    /// First: a pointer to the task is also a pointer to the header.
    pub(super) header: Header,
    pub(super) scheduler: E,
    /// The scheduler's key for the future; 0 until it waits. Access rule.
    pub(super) key: UnsafeCell<u32>,
    /// Stands for the stage, which is touched inside of an access to this. Stage rule.
    pub(super) stage: UnsafeCell<()>,
}

/// The future, then the result; both at the beginning of the union.
#[repr(C)]
pub(super) union FutureStage<F, T> {
    pub(super) future: ManuallyDrop<F>,
    result: ManuallyDrop<Result<T, JoinError>>,
}

/// The place of the future, then of the result.
///
/// # Safety
/// The task must be alive and have these types.
pub(super) unsafe fn stage<F: Future, E>(header: NonNull<Header>) -> *mut F {
    let task = header.cast::<Task<F, E>>().as_ptr();
    // SAFETY: guaranteed by the caller.
    unsafe { &raw mut (*task).stage }.cast()
}

/// Moves the result to `out`.
///
/// # Safety
/// The task must have these types and `DONE` be set. The caller must be the handle and not have taken the result before.
pub(super) unsafe fn take<F: Future, E>(header: NonNull<Header>, out: *mut ()) {
    // SAFETY: the types are right, guaranteed by the caller; Life rule.
    let place = unsafe { stage::<F, E>(header) }.cast::<Result<F::Output, JoinError>>();
    // SAFETY: as above.
    unsafe { header.cast::<Head<E>>().as_ref() }.stage.with_mut(|_| {
        // SAFETY: Stage rule: the result belongs to the handle. `out` has room for a result, guaranteed by the caller.
        unsafe { out.cast::<Result<F::Output, JoinError>>().copy_from_nonoverlapping(place, 1) };
    });
}

/// Frees the task.
///
/// # Safety
/// The task must have these types, both sides have released it, and the result must have been taken.
pub(super) unsafe fn free<F: Future, E>(header: NonNull<Header>) {
    // The access shows a model a free beside another thread's use.
    // SAFETY: the types are right, guaranteed by the caller; Life rule.
    unsafe { header.cast::<Head<E>>().as_ref() }.stage.with_mut(|_| ());
    // SAFETY: it came from a box of this type, and both sides have released it.
    drop(unsafe { Box::from_raw(header.cast::<Task<F, E>>().as_ptr()) });
}
