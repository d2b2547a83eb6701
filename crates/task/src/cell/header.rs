//! The header of every cell, of a closure and of a future.

use core::mem::{self, ManuallyDrop};
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
    /// What to do when the result has been written (Slot rule).
    slot: UnsafeCell<Slot>,
    pub(crate) vtable: &'static VTable,
}

/// A waker, or the link of a member of a set: `MEMBER` in the state says which. The cell drops neither.
union Slot {
    waker: ManuallyDrop<Option<Waker>>,
    link: Link,
}

/// What the waker slot of a member holds; [`completed`](super::completed) says what the pointer is.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub(super) pointer: *const (),
    /// The number that the set knows the member by.
    pub(super) key: usize,
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

    /// Wakes the handle's waker; called by the finisher if it found `WAKER`.
    pub(crate) fn wake(&self) {
        // SAFETY: Slot rule: the caller set `DONE` and found `WAKER`.
        let waker = unsafe { self.swap_waker(None) };
        // A waker is user code; its panic must not become the job's.
        contain(|| waker.into_iter().for_each(Waker::wake));
    }

    /// Replaces the waker in the slot.
    ///
    /// # Safety
    /// Slot rule: the slot must belong to the caller, and hold no link.
    pub(super) unsafe fn swap_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.slot.with_mut(|slot| {
            // SAFETY: Slot rule, guaranteed by the caller.
            let slot = unsafe { &mut *slot };
            // SAFETY: it holds no link, guaranteed by the caller.
            let former = unsafe { &mut slot.waker };
            ManuallyDrop::into_inner(mem::replace(former, ManuallyDrop::new(waker)))
        })
    }

    /// Replaces an empty slot, or one with a link, by a link.
    ///
    /// # Safety
    /// Slot or Member rule: the slot must belong to the caller, and hold no waker.
    pub(super) unsafe fn set_link(&self, link: Link) {
        // SAFETY: guaranteed by the caller.
        self.slot.with_mut(|slot| unsafe { slot.write(Slot { link }) });
    }

    /// Empties a slot with a link.
    ///
    /// # Safety
    /// Slot rule: the slot must belong to the caller, and hold no waker.
    pub(super) unsafe fn clear_link(&self) {
        // SAFETY: guaranteed by the caller.
        self.slot.with_mut(|slot| unsafe { slot.write(Slot::EMPTY) });
    }

    /// Returns the link in the slot.
    ///
    /// # Safety
    /// Slot or Member rule: the slot must belong to the caller, and hold a link.
    pub(super) unsafe fn link(&self) -> Link {
        self.slot.with(|slot| {
            // SAFETY: Slot or Member rule, guaranteed by the caller.
            let slot = unsafe { &*slot };
            // SAFETY: it holds a link, guaranteed by the caller.
            unsafe { slot.link }
        })
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
