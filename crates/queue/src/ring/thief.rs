//! A thief's end of a ring.

use alloc::sync::Arc;
use core::fmt;

use super::{Limit, Order, Ring, StealError, Worker};

/// A thief's end of a ring: takes the oldest items.
pub struct Stealer<T, O: Order> {
    pub(super) ring: Arc<Ring<T, O>>,
}

impl<T, O: Order> Stealer<T, O> {
    /// Takes the oldest items: returns the first and queues the others, in order, on `destination`.
    ///
    /// Takes at least one if there is one and `limit` is not 0, and never more than fit.
    ///
    /// # Errors
    /// [`StealError::Empty`] if there is nothing to take, [`StealError::Busy`] if another thief is at it.
    pub fn steal_into(&self, destination: &Worker<T, O>, limit: Limit) -> Result<T, StealError> {
        let (position, vacant) = destination.ring.order.vacant(destination.ring.capacity());
        let claim = self.ring.order.claim_oldest(|count| {
            // A count read while the owner moves may be too large; a true one never passes the capacity.
            limit.of(count.min(self.ring.capacity())).min(vacant.saturating_add(1))
        })?;
        let mut first = None;
        let mut target = position;
        self.ring.take(&claim, |item| {
            if first.is_none() {
                first = Some(item);
            } else {
                // SAFETY: we own the destination (`Worker` is not `Sync`), and the claim was cut to its vacant slots.
                unsafe { destination.ring.write(target, item) };
                target = target.wrapping_add(1);
            }
        });
        if claim.count > 1 {
            destination.ring.order.publish(claim.count - 1);
        }
        first.ok_or(StealError::Empty)
    }

    /// Takes the oldest item.
    ///
    /// # Errors
    /// [`StealError::Empty`] if there is nothing to take, [`StealError::Busy`] if another thief is at it.
    pub fn steal(&self) -> Result<T, StealError> {
        let claim = self.ring.order.claim_oldest(|count| count.min(1))?;
        let mut taken = None;
        self.ring.take(&claim, |item| taken = Some(item));
        taken.ok_or(StealError::Empty)
    }

    /// Counts what is queued, a moment ago.
    pub fn len(&self) -> usize {
        (self.ring.order.len().min(self.ring.capacity())) as usize
    }

    /// Whether nothing was queued, a moment ago.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number that changes when anything is pushed, popped or stolen.
    ///
    /// Two equal marks around a time in which [`len`](Self::len) was not 0 say that the oldest item
    /// has been waiting all that time.
    pub fn mark(&self) -> u64 {
        self.ring.order.mark()
    }
}

impl<T, O: Order> Clone for Stealer<T, O> {
    fn clone(&self) -> Self {
        Self { ring: self.ring.clone() }
    }
}

impl<T, O: Order> PartialEq for Stealer<T, O> {
    /// Whether both steal from one ring.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }
}

impl<T, O: Order> Eq for Stealer<T, O> {}

impl<T, O: Order> fmt::Debug for Stealer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("len", &self.len()).finish()
    }
}
