//! A thief's end of a ring.

use alloc::sync::Arc;

use super::drain::Drain;
use super::error::StealError;
use super::order::Order;
use super::shared::Ring;

/// A thief's end of a ring: takes the oldest items.
///
/// One thief at a time moves items; meanwhile the others get [`StealError::Busy`] at once.
pub struct Stealer<T, O: Order> {
    pub(super) ring: Arc<Ring<T, O>>,
}

impl<T, O: Order> Stealer<T, O> {
    /// Takes the oldest item.
    ///
    /// # Errors
    /// [`StealError::Empty`] if the ring is empty, [`StealError::Busy`] if another thief holds a claim.
    pub fn steal_one(&self) -> Result<T, StealError> {
        let claim = self.ring.claim_oldest(|_| 1)?;
        Drain::new(&self.ring, claim).next().ok_or(StealError::Empty)
    }

    /// Returns a recent number of queued items.
    ///
    /// It is 0 only if the ring was empty, and never more than the capacity. While the owner pushes and pops it may be too
    /// large.
    pub fn len(&self) -> usize {
        self.ring.positions.len().min(self.ring.capacity()) as usize
    }

    /// Returns whether the ring was empty a moment ago.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a number that changes with each push, pop and steal.
    ///
    /// If two versions are equal and [`len`](Self::len) was not 0 in between, the oldest item has waited all the time.
    pub fn version(&self) -> u64 {
        self.ring.positions.version()
    }
}

impl<T, O: Order> Clone for Stealer<T, O> {
    fn clone(&self) -> Self {
        Self { ring: self.ring.clone() }
    }
}

impl<T, O: Order> PartialEq for Stealer<T, O> {
    /// Returns whether both steal from the same ring.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }
}

impl<T, O: Order> Eq for Stealer<T, O> {}

brigade_sync::opaque!([T, O: Order] Stealer<T, O>: len);
