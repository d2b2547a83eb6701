//! Steals, from ring to ring.

use brigade_queue::Order;

use crate::error::StealError;
use crate::owner::Worker;
use crate::thief::Stealer;

impl<T, O: Order> Stealer<T, O> {
    /// Moves the oldest items to `dest`, in order; returns how many, which is no more than fit.
    ///
    /// `count_fn` gets the number of items and returns how many to take. It is called at most once, before anything is
    /// claimed, and may use either queue.
    ///
    /// # Errors
    /// [`StealError::Empty`] if the ring is empty, the destination is full, or `count_fn` returns 0; [`StealError::Busy`] if
    /// another thief holds a claim.
    #[inline]
    pub fn steal<C>(&self, dest: &Worker<T, O>, count_fn: C) -> Result<usize, StealError>
    where
        C: FnMut(usize) -> usize,
    {
        Ok(self.0.steal(&dest.0, count_fn)?)
    }

    /// Takes the oldest items: returns the newest of them and moves the others to `dest`, in order.
    ///
    /// The returned count is of the moved items, without the returned item. Otherwise as [`steal`](Self::steal).
    ///
    /// # Errors
    /// As for [`steal`](Self::steal), except that a full destination is no error: an item can be returned.
    #[inline]
    pub fn steal_and_pop<C>(
        &self,
        dest: &Worker<T, O>,
        count_fn: C,
    ) -> Result<(T, usize), StealError>
    where
        C: FnMut(usize) -> usize,
    {
        Ok(self.0.steal_and_pop(&dest.0, count_fn)?)
    }
}
