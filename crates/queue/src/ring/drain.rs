//! A claim that its owner reads at leisure.

use core::fmt;
use core::iter::FusedIterator;

use super::{Claim, Order, Ring};

/// An iterator over items claimed by [`Worker::drain`](super::Worker::drain), the oldest first.
///
/// The claim is released with the last item, or when this is dropped, which drops the items not yielded, all of
/// them even if the drop of one panics.
pub struct Drain<'a, T, O: Order> {
    ring: &'a Ring<T, O>,
    /// The whole claim.
    claim: Claim,
    /// How many of it have been read.
    read: u32,
}

impl<'a, T, O: Order> Drain<'a, T, O> {
    pub(super) fn new(ring: &'a Ring<T, O>, claim: Claim) -> Self {
        Self { ring, claim, read: 0 }
    }
}

impl<T, O: Order> Iterator for Drain<'_, T, O> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.read == self.claim.count {
            return None;
        }
        // SAFETY: Claim rule; the claim is ours until the release below, and `read` moves on.
        let item = unsafe { self.ring.read(O::plus(self.claim.start, self.read)) };
        self.read += 1;
        if self.read == self.claim.count {
            O::release(&self.ring.positions, &self.claim);
        }
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.claim.count - self.read) as usize;
        (left, Some(left))
    }
}

impl<T, O: Order> ExactSizeIterator for Drain<'_, T, O> {}

impl<T, O: Order> FusedIterator for Drain<'_, T, O> {}

impl<T, O: Order> Drop for Drain<'_, T, O> {
    fn drop(&mut self) {
        struct Rest<'a, 'b, T, O: Order>(&'a mut Drain<'b, T, O>);
        impl<T, O: Order> Drop for Rest<'_, '_, T, O> {
            fn drop(&mut self) {
                self.0.by_ref().for_each(drop);
            }
        }
        let rest = Rest(self);
        rest.0.by_ref().for_each(drop);
    }
}

impl<T, O: Order> fmt::Debug for Drain<'_, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("len", &self.len()).finish()
    }
}
