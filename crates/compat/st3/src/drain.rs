//! Items claimed by the owner.

use core::iter::FusedIterator;

use brigade_queue::Order;

/// An iterator over the items claimed by a worker's `drain`, the oldest first.
///
/// Dropping it drops the unyielded items. Until then, or until it has ended, thieves get
/// [`Busy`](crate::StealError::Busy).
#[derive(Debug)]
pub struct Drain<'a, T, O: Order>(pub(crate) brigade_queue::Drain<'a, T, O>);

impl<T, O: Order> Iterator for Drain<'_, T, O> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T, O: Order> ExactSizeIterator for Drain<'_, T, O> {}

impl<T, O: Order> FusedIterator for Drain<'_, T, O> {}
