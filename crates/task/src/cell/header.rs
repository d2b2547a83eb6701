//! The header of every cell, of a closure and of a future.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::Waker;

use brigade_sync::cell::UnsafeCell;

use super::completed::Member;
use super::lifecycle::Lifecycle;
use super::state::{Finished, State};
use crate::act::Outcome;
use crate::contain::contain;

/// The part of a cell that does not depend on the type of its closure or future.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) state: State,
    /// The lifecycle of a future; unused for a closure.
    pub(crate) lifecycle: Lifecycle,
    /// What to do when the result has been written (Slot rule).
    slot: UnsafeCell<Slot>,
    pub(crate) vtable: &'static VTable,
}

/// A waker, or the membership in a set: `MEMBER` in the state says which. The cell drops neither.
union Slot {
    waker: ManuallyDrop<Option<Waker>>,
    member: ManuallyDrop<Member>,
}

impl Slot {
    const EMPTY: Self = Self { waker: ManuallyDrop::new(None) };
}

/// The functions that depend on the types of a cell; each takes a pointer that `allocate` returned for the same types.
pub(crate) struct VTable {
    /// Moves the result, a `Result<T, JoinError>`, to `out`.
    pub(crate) take: unsafe fn(NonNull<Header>, out: *mut ()),
    /// Runs the closure or polls the future that the caller claimed if `run` is set and it may start, else drops it.
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
            slot: UnsafeCell::new(Slot::EMPTY),
            vtable,
        }
    }

    /// Returns the header of a future, which only its running guard ends.
    pub(crate) fn of_future(vtable: &'static VTable, state: State, stays: bool) -> Self {
        Self {
            state,
            lifecycle: Lifecycle::scheduled(!stays),
            slot: UnsafeCell::new(Slot::EMPTY),
            vtable,
        }
    }

    /// Wakes the handle or lists the member, as the thread that finished a task must; `true` if the result belongs to that thread.
    ///
    /// # Safety
    /// Slot rule: the caller must have set `DONE`, which must have returned `finished`.
    #[inline]
    pub(crate) unsafe fn deliver(&self, finished: Finished) -> bool {
        match finished {
            Finished::Detached => return true,
            Finished::Wake => {
                // SAFETY: Slot rule: the caller found `WAKER`.
                let waker = unsafe { self.swap_waker(None) };
                // A waker is user code; its panic must not become the job's.
                contain(|| waker.into_iter().for_each(Waker::wake));
            }
            // SAFETY: Slot rule: the caller found `MEMBER`.
            Finished::Push => unsafe { self.leave() }.push(),
            Finished::NoWaker => {}
        }
        false
    }

    /// Replaces the waker in the slot.
    ///
    /// # Safety
    /// Slot rule: the slot must belong to the caller, and have no membership.
    pub(super) unsafe fn swap_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        // SAFETY: guaranteed by the caller.
        let former = unsafe { self.swap(Slot { waker: ManuallyDrop::new(waker) }) };
        // SAFETY: it has no membership, guaranteed by the caller.
        ManuallyDrop::into_inner(unsafe { former.waker })
    }

    /// Fills an empty slot with a membership.
    ///
    /// # Safety
    /// Slot rule: the slot must belong to the caller, and be empty.
    pub(super) unsafe fn enter(&self, member: Member) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.swap(Slot { member: ManuallyDrop::new(member) }) };
    }

    /// Empties a slot with a membership.
    ///
    /// # Safety
    /// Slot rule: the slot must belong to the caller, and have a membership.
    pub(super) unsafe fn leave(&self) -> Member {
        // SAFETY: guaranteed by the caller.
        let former = unsafe { self.swap(Slot::EMPTY) };
        // SAFETY: it has a membership, guaranteed by the caller.
        ManuallyDrop::into_inner(unsafe { former.member })
    }

    /// # Safety
    /// Slot rule: the slot must belong to the caller.
    unsafe fn swap(&self, slot: Slot) -> Slot {
        // SAFETY: guaranteed by the caller.
        self.slot.with_mut(|former| unsafe { former.replace(slot) })
    }

    /// Releases a side of a cell, of which `side` is the bit in the state.
    ///
    /// # Safety
    /// Life rule: the side must be the caller's, be released once, and not be used afterwards. The pointer must be to the whole
    /// cell.
    pub(crate) unsafe fn release(cell: NonNull<Self>, side: u32) {
        // SAFETY: Life rule: the cell lives until this releases it.
        let header = unsafe { cell.as_ref() };
        let free = header.vtable.free;
        if header.state.release(side) {
            // SAFETY: Life rule: all sides have been released.
            unsafe { free(cell) };
        }
    }
}
