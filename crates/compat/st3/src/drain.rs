//! Items that the owner has claimed.

use core::iter::FusedIterator;

use brigade_queue::Order;

/// An iterator over the items that a worker's `drain` claimed, the oldest first.
///
/// Dropping it drops the items that it has not yielded. Until then, or until it has ended, thieves get
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
