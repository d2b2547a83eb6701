//! The storage of a future: its cell, or, if it is large, a box that is freed when it ends.

use core::future::Future;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::pin::Pin;

/// The storage of a future.
pub(super) trait Store: 'static {
    /// The future's type.
    type Future: Future + 'static;

    /// Stores a future.
    fn new(future: Self::Future) -> Self;

    /// Moves the future to `out`.
    ///
    /// # Safety
    /// Pin rule: it must not have been pinned.
    unsafe fn write_to(self, out: &mut MaybeUninit<Self::Future>);

    /// Pins the future.
    fn pinned(self: Pin<&mut Self>) -> Pin<&mut Self::Future>;
}

/// Stores a future in its cell.
pub(super) struct Inline<F>(F);

/// Stores a future in a box.
pub(super) struct Boxed<F>(Pin<Box<F>>);

impl<F: Future + 'static> Store for Inline<F> {
    type Future = F;

    fn new(future: F) -> Self {
        Self(future)
    }

    unsafe fn write_to(self, out: &mut MaybeUninit<F>) {
        out.write(self.0);
    }

    fn pinned(self: Pin<&mut Self>) -> Pin<&mut F> {
        // SAFETY: the field is pinned with the whole, which has no drop of its own and is only moved before it is pinned.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }
    }
}

impl<F: Future + 'static> Store for Boxed<F> {
    type Future = F;

    fn new(future: F) -> Self {
        Self(Box::pin(future))
    }

    unsafe fn write_to(self, out: &mut MaybeUninit<F>) {
        // SAFETY: Pin rule, guaranteed by the caller.
        let future = Box::into_raw(unsafe { Pin::into_inner_unchecked(self.0) });
        // From the heap to `out`, without a copy on the stack, which may be too small for it.
        // SAFETY: both are valid for this type and do not overlap.
        unsafe { out.as_mut_ptr().copy_from_nonoverlapping(future, 1) };
        // SAFETY: it came from a box, and its content has been moved out.
        drop(unsafe { Box::from_raw(future.cast::<ManuallyDrop<F>>()) });
    }

    fn pinned(self: Pin<&mut Self>) -> Pin<&mut F> {
        self.get_mut().0.as_mut()
    }
}
