//! A claim whose holder reads it item by item.

use core::iter::FusedIterator;
use core::mem;

use super::order::Order;
use super::shared::Ring;
use super::state::{Claim, Claims};

/// An iterator over items claimed by [`Worker::drain`](crate::Worker::drain), the oldest first.
///
/// The claim is released with the last item, or when the iterator is dropped. The drop also drops all unyielded items,
/// even if the drop of an item panics.
pub struct Drain<'a, T, O: Order> {
    ring: &'a Ring<T, O>,
    /// The whole claim.
    claim: Claim,
    /// The number of items read.
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
        // SAFETY: Claim rule; the claim is released below, after the last read, and `read` advances.
        let item = unsafe { self.ring.read(O::plus(self.claim.start, self.read)) };
        self.read += 1;
        if self.read == self.claim.count {
            self.ring.positions.release(&self.claim);
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
        /// Drops the rest if the drop of an item panics.
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

brigade_sync::opaque!([T, O: Order] Drain<'_, T, O>: len);

impl<T, O: Order> Drop for Ring<T, O> {
    /// Drops the queued items. Items claimed by a forgotten `Drain` leak.
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            let start = Claims::unpack(self.positions.claims()).head;
            // No handle is left, so all queued items can be claimed.
            let claim = Claim { start, count: self.positions.len() };
            drop(Drain::new(self, claim));
        }
    }
}
