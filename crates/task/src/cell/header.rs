//! The header of every cell, of a closure and of a future.

use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use core::task::Waker;

use brigade_sync::cell::UnsafeCell;

use super::completed::Member;
use super::lifecycle::Lifecycle;
use super::state::{Filled, Finished, State};
use crate::act::{Outcome, TakeRequest};
use crate::cause::Cause;
use crate::contain::contain;

/// The part of a cell that is independent of the type of the closure or future.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) state: State,
    /// The lifecycle of a future; unused for a closure.
    pub(crate) lifecycle: Lifecycle,
    /// The waker or member to notify of the result (Slot rule).
    slot: UnsafeCell<MaybeUninit<Slot>>,
    pub(crate) vtable: &'static VTable,
}

/// The content of the waker slot, selected by the `WAKER` and `MEMBER` bits of the state.
union Slot {
    waker: ManuallyDrop<Waker>,
    member: ManuallyDrop<Member>,
}

/// The content taken from the waker slot.
pub(super) enum Content {
    Nothing,
    Waker(Waker),
    Member(Member),
}

/// The functions that depend on the types of a cell; each takes a pointer that `allocate` returned for the same types.
pub(crate) struct VTable {
    /// Moves the result, a `Result<T, JoinError>`, to `out`.
    pub(crate) take: unsafe fn(NonNull<Header>, out: *mut ()),
    /// Runs or polls the claimed closure or future if it may start, or drops it for the cause `stop`. A future not yet polled is moved out
    /// instead of dropped if `taken` requests it.
    pub(crate) settle:
        unsafe fn(NonNull<Header>, stop: Option<Cause>, taken: Option<&TakeRequest>) -> Outcome,
    /// Frees the cell.
    pub(crate) free: unsafe fn(NonNull<Header>),
    /// `None` for a closure.
    pub(crate) future: Option<&'static FutureVTable>,
}

/// The functions that depend on the scheduler of a future.
pub(crate) struct FutureVTable {
    /// Whether only one thread may drop the future.
    pub(crate) is_local: bool,
    /// Whether the calling thread may drop the future.
    pub(crate) is_here: unsafe fn(NonNull<Header>) -> bool,
    /// Makes the job of a woken future and passes it to its scheduler.
    pub(crate) schedule: unsafe fn(NonNull<Header>),
    /// Gives back the content of the guard in the future's first job.
    pub(crate) give_back: unsafe fn(NonNull<Header>),
}

impl Header {
    /// Returns the header of a closure.
    pub(super) fn of_closure(vtable: &'static VTable) -> Self {
        Self {
            state: State::new(),
            lifecycle: Lifecycle::unused(),
            slot: UnsafeCell::new(MaybeUninit::uninit()),
            vtable,
        }
    }

    /// Returns the header of a future, which only the running guard ends.
    pub(crate) fn of_future(vtable: &'static VTable, state: State) -> Self {
        Self {
            state,
            lifecycle: Lifecycle::scheduled(),
            slot: UnsafeCell::new(MaybeUninit::uninit()),
            vtable,
        }
    }

    /// Wakes the handle or lists the member, as the finishing thread must; `true` if the result belongs to this thread.
    ///
    /// # Safety
    /// Slot rule: the caller must have set `DONE`, which must have returned `finished`.
    #[inline]
    pub(crate) unsafe fn deliver(&self, finished: Finished) -> bool {
        let Finished::Attached(filled) = finished else { return true };
        // SAFETY: Slot rule: the caller found this when it set `DONE`.
        match unsafe { self.empty(filled) } {
            Content::Nothing => {}
            // A waker is user code; a panic of it must not become the job's.
            Content::Waker(waker) => contain(|| waker.wake()),
            Content::Member(member) => member.push(),
        }
        false
    }

    /// Fills an empty slot; returns the kind of content, for the state.
    ///
    /// # Safety
    /// Slot rule: the slot must belong to the caller, and be empty.
    pub(super) unsafe fn fill(&self, content: Content) -> Filled {
        let (slot, filled) = match content {
            Content::Nothing => return Filled::Nothing,
            Content::Waker(waker) => (Slot { waker: ManuallyDrop::new(waker) }, Filled::Waker),
            Content::Member(member) => (Slot { member: ManuallyDrop::new(member) }, Filled::Member),
        };
        // SAFETY: guaranteed by the caller.
        self.slot.with_mut(|place| unsafe { place.cast::<Slot>().write(slot) });
        filled
    }

    /// Empties the slot.
    ///
    /// # Safety
    /// Slot rule: the slot must belong to the caller, and be filled like this; it is not emptied again until it has been filled.
    pub(super) unsafe fn empty(&self, filled: Filled) -> Content {
        let read = |slot: *mut MaybeUninit<Slot>| {
            // SAFETY: guaranteed by the caller.
            unsafe { slot.cast::<Slot>().read() }
        };
        match filled {
            Filled::Nothing => Content::Nothing,
            Filled::Waker => {
                // SAFETY: guaranteed by the caller.
                let waker = unsafe { self.slot.with_mut(read).waker };
                Content::Waker(ManuallyDrop::into_inner(waker))
            }
            Filled::Member => {
                // SAFETY: guaranteed by the caller.
                let member = unsafe { self.slot.with_mut(read).member };
                Content::Member(ManuallyDrop::into_inner(member))
            }
        }
    }

    /// Runs or polls a claimed closure or future, or drops it for the cause `stop`. The job of a future, now stale, keeps its reference.
    ///
    /// # Safety
    /// The caller must have claimed it, and its side must be alive.
    #[inline]
    pub(crate) unsafe fn settle(cell: NonNull<Self>, stop: Option<Cause>) -> Outcome {
        // SAFETY: guaranteed by the caller.
        let Self { state, lifecycle, vtable, .. } = unsafe { cell.as_ref() };
        if let Some(future) = vtable.future {
            // Before any user code, as a guard is dropped.
            if lifecycle.begin_claimed() && state.holds() {
                // SAFETY: guaranteed by the caller; the vtable is the cell's.
                unsafe { (future.give_back)(cell) };
            }
        }
        // SAFETY: as above.
        unsafe { (vtable.settle)(cell, stop, None) }
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
