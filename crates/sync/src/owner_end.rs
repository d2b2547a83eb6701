//! The interface between a queued type and the deque of its owner, although neither crate knows the other.

use alloc::vec::Vec;
use core::cell::RefCell;

/// The owner's end of a deque, some of whose items belong to the owner's current operation.
///
/// Implemented for a deque without thieves, a `RefCell<Vec<T>>`.
///
/// ```
/// use brigade_sync::OwnerEnd;
/// use std::cell::RefCell;
/// let deque = RefCell::new(vec![1, 2]);
/// // SAFETY: the closures do not use the deque.
/// let forgets = |number| unsafe { deque.forget_newest_if(|&newest| newest == number) };
/// assert!(!forgets(1) && forgets(2) && forgets(1) && !forgets(1));
/// ```
///
/// # Safety
/// [`forget_newest_if`](Self::forget_newest_if) returns `true` only if it has called `is` with an item of this deque and `is` has
/// returned `true`. No call returns or drops the item from then on.
pub unsafe trait OwnerEnd<T> {
    /// Removes the newest item and forgets it, without a move, if `is` says so. Returns whether it did; an item claimed by a
    /// thief stays.
    ///
    /// # Safety
    /// `is` must not use the deque, and must not panic.
    unsafe fn forget_newest_if(&self, is: impl FnOnce(&T) -> bool) -> bool;
}

// SAFETY: a forgotten item is no longer in the vector.
unsafe impl<T> OwnerEnd<T> for RefCell<Vec<T>> {
    unsafe fn forget_newest_if(&self, is: impl FnOnce(&T) -> bool) -> bool {
        let mut items = self.borrow_mut();
        let newest = if items.last().is_some_and(is) { items.pop() } else { None };
        newest.map(core::mem::forget).is_some()
    }
}
