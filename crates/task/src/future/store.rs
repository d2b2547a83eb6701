//! Where a future lies: in its cell, or, if it is large, in a box that goes when it ends.

use core::future::Future;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::pin::Pin;

/// From this size on a future lies in a box: a cell is kept as long as its handle and its wakers are.
const LARGE: usize = 2048;

/// Where a future of one type lies.
pub(super) trait Store: 'static {
    /// Its type.
    type Future: Future + 'static;

    /// Puts it there.
    fn new(future: Self::Future) -> Self;

    /// Takes it back.
    ///
    /// # Safety
    /// Pin rule: it has not been pinned.
    unsafe fn write_to(self, out: &mut MaybeUninit<Self::Future>);

    /// Pins it.
    fn pinned(self: Pin<&mut Self>) -> Pin<&mut Self::Future>;
}

/// In the cell.
pub(super) struct Inline<F>(F);

/// In a box.
pub(super) struct Boxed<F>(Pin<Box<F>>);

/// Whether a future is a large one.
pub(super) const fn is_large<F>() -> bool {
    size_of::<F>() >= LARGE
}

impl<F: Future + 'static> Store for Inline<F> {
    type Future = F;

    fn new(future: F) -> Self {
        Self(future)
    }

    unsafe fn write_to(self, out: &mut MaybeUninit<F>) {
        out.write(self.0);
    }

    fn pinned(self: Pin<&mut Self>) -> Pin<&mut F> {
        // SAFETY: it is pinned with what it lies in, which has no drop of its own, and moves only before it is pinned.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }
    }
}

impl<F: Future + 'static> Store for Boxed<F> {
    type Future = F;

    fn new(future: F) -> Self {
        Self(Box::pin(future))
    }

    unsafe fn write_to(self, out: &mut MaybeUninit<F>) {
        // SAFETY: Pin rule, by the caller.
        let future = Box::into_raw(unsafe { Pin::into_inner_unchecked(self.0) });
        // From heap to `out`, with no copy on the stack, which may be too small for it.
        // SAFETY: both are there, and are not the same.
        unsafe { out.as_mut_ptr().copy_from_nonoverlapping(future, 1) };
        // SAFETY: it came from a box, and its content has been moved out.
        drop(unsafe { Box::from_raw(future.cast::<ManuallyDrop<F>>()) });
    }

    fn pinned(self: Pin<&mut Self>) -> Pin<&mut F> {
        self.get_mut().0.as_mut()
    }
}
