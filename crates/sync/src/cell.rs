//! [`UnsafeCell`] with the access of loom, which sees each read and each write.

use alloc::boxed::Box;
use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

/// A cell whose content is reached through a pointer for the length of a call.
///
/// Under `--cfg brigade_loom` it is loom's, which fails a model in which two threads reach the
/// content at once and one of them writes.
#[cfg(brigade_loom)]
pub use loom::cell::UnsafeCell;

/// A cell whose content is reached through a pointer for the length of a call.
#[cfg(not(brigade_loom))]
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(brigade_loom))]
impl<T> UnsafeCell<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Reaches the content to read it; following the pointer is the caller's responsibility.
    #[inline]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Reaches the content to write it; following the pointer is the caller's responsibility.
    #[inline]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Allocates cells whose content is not yet written, on the heap from the start.
///
/// # Errors
/// If there is no memory for so many.
pub fn try_uninit_slice<T>(
    count: usize,
) -> Result<Box<[UnsafeCell<MaybeUninit<T>>]>, TryReserveError> {
    let mut cells = Vec::new();
    cells.try_reserve_exact(count)?;
    // Costs nothing per cell once it is optimised: neither layer has anything to write.
    cells.resize_with(count, || UnsafeCell::new(MaybeUninit::uninit()));
    Ok(cells.into_boxed_slice())
}

/// Copies the content of cells to as many others, bit by bit: the items move.
///
/// # Safety
/// Nobody else reaches any of these cells meanwhile, all of `from` have been written, no cell is among both, and there
/// are at least as many of `to`.
#[inline(always)]
pub unsafe fn move_items<T>(
    from: &[UnsafeCell<MaybeUninit<T>>],
    to: &[UnsafeCell<MaybeUninit<T>>],
) {
    debug_assert!(from.len() <= to.len());
    #[cfg(not(brigade_loom))]
    // SAFETY: by the caller; a cell has the layout of its content, and pointers to shared cells may be written through.
    unsafe {
        core::ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr().cast_mut(), from.len());
    }
    #[cfg(brigade_loom)]
    for (from, to) in from.iter().zip(to) {
        // SAFETY: by the caller, as above; loom looks at each cell.
        from.with(|from| to.with_mut(|to| unsafe { to.copy_from_nonoverlapping(from, 1) }));
    }
}
