//! A thief's end of a ring.

use brigade_queue::Order;
use ref_cast::RefCast;

/// A thief's end of a ring: takes the oldest items.
#[derive(Debug, RefCast)]
#[repr(transparent)]
pub struct Stealer<T, O: Order>(pub(crate) brigade_queue::Stealer<T, O>);

impl<T, O: Order> Clone for Stealer<T, O> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T, O: Order> PartialEq for Stealer<T, O> {
    /// Returns whether both steal from the same ring.
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T, O: Order> Eq for Stealer<T, O> {}
