//! Steals from ring to ring.

use super::error::StealError;
use super::order::Order;
use super::owner::Worker;
use super::thief::Stealer;

/// Which of the stolen items is returned instead of queued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    Nothing,
    Oldest,
    Newest,
}

impl<T, O: Order> Stealer<T, O> {
    /// Moves the oldest items to `destination`, in order; returns how many, which is no more than fit.
    ///
    /// `count_fn` gets the number of items and returns how many to take. It is called at most once, before anything is read
    /// or claimed, and may use either queue. It never gets more than the capacity. If there are fewer items at the time of
    /// the claim, fewer are taken.
    ///
    /// # Errors
    /// [`StealError::Empty`] if the ring is empty, the destination is full, or `count_fn` returns 0;
    /// [`StealError::Busy`] if another thief holds a claim.
    #[inline]
    pub fn steal<C: FnMut(usize) -> usize>(
        &self,
        destination: &Worker<T, O>,
        count_fn: C,
    ) -> Result<usize, StealError> {
        let most = self.ring.limit_by(count_fn)?;
        self.transfer(destination, false, most, Returned::Nothing).map(|(_, count)| count)
    }

    /// Takes the oldest items: returns the newest of them and moves the others to `destination`, in order.
    ///
    /// The returned count is of the moved items, without the returned item. Otherwise as [`steal`](Self::steal).
    ///
    /// # Errors
    /// As for [`steal`](Self::steal), except that a full destination is no error: an item can be returned.
    #[inline]
    pub fn steal_and_pop<C: FnMut(usize) -> usize>(
        &self,
        destination: &Worker<T, O>,
        count_fn: C,
    ) -> Result<(T, usize), StealError> {
        let most = self.ring.limit_by(count_fn)?;
        let (item, count) = self.transfer(destination, false, most, Returned::Newest)?;
        item.map(|item| (item, count)).ok_or(StealError::Empty)
    }

    /// Takes half of the items, rounded up: returns the oldest of them and moves the others to `destination`, in order.
    ///
    /// The number at the time of the claim is halved. Otherwise as [`steal_and_pop`](Self::steal_and_pop).
    ///
    /// # Errors
    /// As for [`steal_and_pop`](Self::steal_and_pop).
    ///
    /// ```
    /// use brigade_queue::{StealError, fifo};
    /// let (victim, thief) = (fifo::Worker::new(8), fifo::Worker::new(8));
    /// victim.extend(0..5);
    /// assert_eq!(victim.stealer_ref().steal_half_and_pop(&thief), Ok((0, 2)));
    /// let claim = victim.drain(|_| 1)?;
    /// assert_eq!(victim.stealer_ref().steal_half_and_pop(&thief), Err(StealError::Busy));
    /// # drop(claim);
    /// # Ok::<(), StealError>(())
    /// ```
    #[inline]
    pub fn steal_half_and_pop(&self, destination: &Worker<T, O>) -> Result<(T, usize), StealError> {
        let (item, count) = self.transfer(destination, true, u32::MAX, Returned::Oldest)?;
        item.map(|item| (item, count)).ok_or(StealError::Empty)
    }

    /// Moves the oldest items, at most `most`, or at most half of all; also returns an item if asked to, and how many went
    /// to `destination`.
    #[inline(always)]
    fn transfer(
        &self,
        destination: &Worker<T, O>,
        halves: bool,
        most: u32,
        returned: Returned,
    ) -> Result<(Option<T>, usize), StealError> {
        // We own the destination, and no user code runs from here to the publication, so its tail stays.
        let kept = u32::from(returned != Returned::Nothing);
        let most = most.min(destination.free_slots_for(most).saturating_add(kept));
        let claim = self.ring.claim_oldest(|count| {
            let share = if halves { count - count / 2 } else { count };
            share.min(most)
        })?;
        let moved = claim.count - kept;
        let (first, taken) = match returned {
            Returned::Nothing => (claim.start, None),
            Returned::Oldest => (O::plus(claim.start, 1), Some(claim.start)),
            Returned::Newest => (claim.start, Some(O::plus(claim.start, moved))),
        };
        // SAFETY: Claim rule: the claim is ours until the release below. We own the destination (`Worker` is not
        // `Sync`), and the claim was limited to its free slots.
        unsafe { self.ring.move_run(first, destination.ring(), destination.tail(), moved) };
        // SAFETY: Claim rule as above; the position is not in the run.
        let taken = taken.map(|position| unsafe { self.ring.read(position) });
        self.ring.positions.release(&claim);
        if moved > 0 {
            destination.publish(moved);
        }
        Ok((taken, moved as usize))
    }
}
