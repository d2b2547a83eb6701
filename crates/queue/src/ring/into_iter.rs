//! What is left of a queue when its owner has no more use for it.

use super::{Order, Worker};
use crate::Injector;

/// Pops what is queued; made by turning a [`Worker`] or an [`Injector`] into an iterator.
#[derive(Debug)]
pub struct IntoIter<Q>(pub(crate) Q);

impl<T, O: Order> Iterator for IntoIter<Worker<T, O>> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }
}

impl<T> Iterator for IntoIter<Injector<T>> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }
}
