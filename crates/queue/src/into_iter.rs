//! Iterators that consume a queue.

use core::iter::FusedIterator;

use crate::injector::{Cursor, Injector, ShardedInjector};
use crate::ring::{Order, Worker};

/// Pops the queued items; created by turning a [`Worker`] or an injector into an iterator.
#[derive(Debug)]
pub struct IntoIter<Q>(Q);

impl<T, O: Order> Iterator for IntoIter<Worker<T, O>> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Thieves may take some of the items.
        (0, Some(self.0.len()))
    }
}

impl<T> Iterator for IntoIter<Injector<T>> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // It is not shared.
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T> Iterator for IntoIter<(ShardedInjector<T>, Cursor)> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let (injector, cursor) = &self.0;
        injector.pop(cursor)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.0.len(), Some(self.0.0.len()))
    }
}

// The queue is consumed, so no item is pushed any more.
impl<T, O: Order> FusedIterator for IntoIter<Worker<T, O>> {}
impl<T> FusedIterator for IntoIter<Injector<T>> {}
impl<T> FusedIterator for IntoIter<(ShardedInjector<T>, Cursor)> {}

impl<T, O: Order> IntoIterator for Worker<T, O> {
    type Item = T;
    type IntoIter = IntoIter<Self>;

    /// Pops the queued items, in the ring's order, beside thieves that may still be stealing.
    fn into_iter(self) -> IntoIter<Self> {
        IntoIter(self)
    }
}

impl<T> IntoIterator for Injector<T> {
    type Item = T;
    type IntoIter = IntoIter<Self>;

    /// Pops the queued items, the oldest first.
    fn into_iter(self) -> IntoIter<Self> {
        IntoIter(self)
    }
}

impl<T> IntoIterator for ShardedInjector<T> {
    type Item = T;
    type IntoIter = IntoIter<(Self, Cursor)>;

    /// Pops the queued items, one shard after the other in turn.
    fn into_iter(self) -> IntoIter<(Self, Cursor)> {
        IntoIter((self, Cursor::default()))
    }
}
