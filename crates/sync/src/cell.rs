//! [`UnsafeCell`] with loom's interface, through which loom sees each read and each write.

use alloc::boxed::Box;
use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

/// A cell whose content is accessed through a pointer for the length of a call.
///
/// Under `--cfg brigade_loom` it is loom's, which fails a model in which two threads access the content at once and
/// one of them writes.
#[cfg(brigade_loom)]
pub use loom::cell::UnsafeCell;

/// A cell whose content is accessed through a pointer for the length of a call.
#[cfg(not(brigade_loom))]
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(brigade_loom))]
impl<T> UnsafeCell<T> {
    /// Creates a cell.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Calls with a pointer for reading; the caller is responsible for dereferencing it.
    #[inline]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Calls with a pointer for writing; the caller is responsible for dereferencing it.
    #[inline]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Allocates cells with uninitialised content, directly on the heap.
///
/// # Errors
/// If there is not enough memory.
pub fn try_uninit_slice<T>(
    count: usize,
) -> Result<Box<[UnsafeCell<MaybeUninit<T>>]>, TryReserveError> {
    let mut cells = Vec::new();
    cells.try_reserve_exact(count)?;
    // Optimised to nothing per cell: neither layer has anything to write.
    cells.resize_with(count, || UnsafeCell::new(MaybeUninit::uninit()));
    Ok(cells.into_boxed_slice())
}

/// Moves the content of `from` to the first cells of `to`, as a bitwise copy.
///
/// # Safety
/// No other thread may access any of these cells during the call. All cells of `from` must be initialised, no cell may
/// be in both slices, and `to` must be at least as long as `from`.
#[inline(always)]
pub unsafe fn move_items<T>(
    from: &[UnsafeCell<MaybeUninit<T>>],
    to: &[UnsafeCell<MaybeUninit<T>>],
) {
    debug_assert!(from.len() <= to.len());
    #[cfg(not(brigade_loom))]
    // SAFETY: guaranteed by the caller; a cell has the layout of its content and may be written through a shared pointer.
    unsafe {
        core::ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr().cast_mut(), from.len());
    }
    #[cfg(brigade_loom)]
    for (from, to) in from.iter().zip(to) {
        // SAFETY: guaranteed by the caller, as above; loom checks each cell.
        from.with(|from| to.with_mut(|to| unsafe { to.copy_from_nonoverlapping(from, 1) }));
    }
}
