//! The header of every cell, of a closure and of a future.

use core::ptr::NonNull;
use core::task::Waker;

use brigade_sync::cell::UnsafeCell;

use super::lifecycle::Lifecycle;
use super::state::State;
use crate::act::Outcome;
use crate::contain::contain;

/// The part of a cell that does not depend on the type of its closure or future.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) state: State,
    /// The lifecycle of a future; unused for a closure.
    pub(crate) lifecycle: Lifecycle,
    /// The waker to wake when the result has been written (Slot rule).
    pub(super) waker: UnsafeCell<Option<Waker>>,
    pub(crate) vtable: &'static VTable,
}

/// The functions that depend on the types of a cell; each takes a pointer that `allocate` returned for the same types.
pub(crate) struct VTable {
    /// Moves the result, a `Result<T, JoinError>`, to `out`.
    pub(crate) take: unsafe fn(NonNull<Header>, out: *mut ()),
    /// Runs the closure that the caller claimed if `run` is set and it may start, else drops it.
    pub(crate) settle: unsafe fn(NonNull<Header>, run: bool) -> Outcome,
    /// Frees the cell.
    pub(crate) free: unsafe fn(NonNull<Header>),
    /// Makes the job of a woken future and passes it to its scheduler; `None` for a closure.
    pub(crate) schedule: Option<unsafe fn(NonNull<Header>)>,
}

impl Header {
    /// Returns the header of a closure.
    pub(super) fn of_closure(vtable: &'static VTable) -> Self {
        Self {
            state: State::new(),
            lifecycle: Lifecycle::unused(),
            waker: UnsafeCell::new(None),
            vtable,
        }
    }

    /// Returns the header of a future, which only its running guard ends.
    pub(crate) fn of_future(vtable: &'static VTable) -> Self {
        Self {
            state: State::claimed(),
            lifecycle: Lifecycle::scheduled(),
            waker: UnsafeCell::new(None),
            vtable,
        }
    }

    /// Wakes the handle's waker; called by the finisher if it found `WAKER`.
    pub(crate) fn wake(&self) {
        let waker = self.waker.with_mut(|slot| {
            // SAFETY: Slot rule: the caller set `DONE` and found `WAKER`.
            unsafe { &mut *slot }.take()
        });
        // A waker is user code; its panic must not become the job's.
        contain(|| waker.into_iter().for_each(Waker::wake));
    }

    /// Releases the job's side of a cell.
    ///
    /// # Safety
    /// Life rule: the side must be released once, and not be used afterwards. The pointer must be to the whole cell.
    pub(crate) unsafe fn release_job(cell: NonNull<Self>) {
        // SAFETY: Life rule: the cell lives until this releases it.
        let header = unsafe { cell.as_ref() };
        let free = header.vtable.free;
        if header.state.release_job() {
            // SAFETY: Life rule: both sides have been released.
            unsafe { free(cell) };
        }
    }
}
