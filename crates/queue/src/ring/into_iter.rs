//! What is left of a queue when its owner has no more use for it.

use core::iter::FusedIterator;

use super::{Order, Worker};
use crate::{Cursor, Injector, ShardedInjector};

/// Pops what is queued; made by turning a [`Worker`] or an injector into an iterator.
#[derive(Debug)]
pub struct IntoIter<Q>(pub(crate) Q);

impl<T, O: Order> Iterator for IntoIter<Worker<T, O>> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Thieves may take some of them.
        (0, Some(self.0.len()))
    }
}

impl<T> Iterator for IntoIter<Injector<T>> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Nobody else has it.
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

// Nobody can push any more.
impl<T, O: Order> FusedIterator for IntoIter<Worker<T, O>> {}
impl<T> FusedIterator for IntoIter<Injector<T>> {}
impl<T> FusedIterator for IntoIter<(ShardedInjector<T>, Cursor)> {}
