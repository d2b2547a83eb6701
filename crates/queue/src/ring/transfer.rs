//! Steals that move items from one ring to another.

use super::error::StealError;
use super::limit::{Limit, part_of};
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

impl<T, O: Order> Worker<T, O> {
    /// Searches other rings: takes the oldest items of the first that has some, returns the oldest and moves the rest to this ring.
    ///
    /// Looks once at each ring, beginning with the one at `start` modulo their number, and skips this one. Workers should start at
    /// different rings, for example at random.
    ///
    /// # Errors
    /// [`StealError::Busy`] if nothing was taken, and another thief held a claim on at least one of the rings: search again before
    /// the worker sleeps. Otherwise [`StealError::Empty`].
    ///
    /// ```
    /// use brigade_queue::{Limit, StealError, fifo};
    /// let workers = [(); 3].map(|()| fifo::Worker::new(8));
    /// let stealers = workers.each_ref().map(fifo::Worker::stealer);
    /// workers[2].extend(0..4);
    /// assert_eq!(workers[0].steal_from(&stealers, 1, Limit::Half), Ok(0));
    /// assert_eq!(workers[0].pop(), Some(1));
    /// assert_eq!(workers[0].steal_from(&stealers[..2], 0, Limit::Half), Err(StealError::Empty));
    /// ```
    pub fn steal_from(
        &self,
        stealers: &[Stealer<T, O>],
        start: usize,
        limit: Limit,
    ) -> Result<T, StealError> {
        let (last, first) = stealers.split_at(start % stealers.len().max(1));
        let mut error = StealError::Empty;
        for stealer in first.iter().chain(last).filter(|stealer| **stealer != *self.stealer_ref()) {
            match stealer.steal_batch_and_pop(self, limit) {
                Ok((item, _)) => return Ok(item),
                Err(StealError::Busy) => error = StealError::Busy,
                Err(StealError::Empty) => {}
            }
        }
        Err(error)
    }
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
        let limit = self.ring.limit_by(count_fn)?;
        self.transfer(destination, limit, Returned::Nothing).map(|(_, count)| count)
    }

    /// Takes the oldest items: returns the newest of them and moves the others to `destination`, in order.
    ///
    /// The returned count is that of the moved items, without the returned one. Otherwise as [`steal`](Self::steal).
    ///
    /// # Errors
    /// As for [`steal`](Self::steal), except that a full destination is no error: one item can be returned.
    #[inline]
    pub fn steal_and_pop<C: FnMut(usize) -> usize>(
        &self,
        destination: &Worker<T, O>,
        count_fn: C,
    ) -> Result<(T, usize), StealError> {
        let limit = self.ring.limit_by(count_fn)?;
        let (item, count) = self.transfer(destination, limit, Returned::Newest)?;
        item.map(|item| (item, count)).ok_or(StealError::Empty)
    }

    /// Moves the oldest items to `destination`, in order; returns how many: at least one, and no more than fit.
    ///
    /// # Errors
    /// [`StealError::Empty`] if the ring is empty, the destination is full, or the limit is 0;
    /// [`StealError::Busy`] if another thief holds a claim.
    ///
    /// ```
    /// use brigade_queue::{Limit, StealError, fifo};
    /// let (victim, thief) = (fifo::Worker::new(8), fifo::Worker::new(8));
    /// victim.extend(0..5);
    /// assert_eq!(victim.stealer_ref().steal_batch(&thief, Limit::Half), Ok(3));
    /// let claim = victim.drain(|_| 1)?;
    /// assert_eq!(victim.stealer_ref().steal_batch(&thief, Limit::Half), Err(StealError::Busy));
    /// # drop(claim);
    /// # Ok::<(), StealError>(())
    /// ```
    #[inline]
    pub fn steal_batch(
        &self,
        destination: &Worker<T, O>,
        limit: Limit,
    ) -> Result<usize, StealError> {
        self.transfer(destination, limit, Returned::Nothing).map(|(_, count)| count)
    }

    /// Takes the oldest items: returns the oldest of them and moves the others to `destination`, in order.
    ///
    /// The returned count is that of the moved items, without the returned one.
    ///
    /// # Errors
    /// As for [`steal_batch`](Self::steal_batch), except that a full destination is no error: one item can be returned.
    #[inline]
    pub fn steal_batch_and_pop(
        &self,
        destination: &Worker<T, O>,
        limit: Limit,
    ) -> Result<(T, usize), StealError> {
        let (item, count) = self.transfer(destination, limit, Returned::Oldest)?;
        item.map(|item| (item, count)).ok_or(StealError::Empty)
    }

    /// Moves the oldest items, and returns one of them if asked to; returns how many went to `destination`.
    #[inline(always)]
    fn transfer(
        &self,
        destination: &Worker<T, O>,
        limit: Limit,
        returned: Returned,
    ) -> Result<(Option<T>, usize), StealError> {
        // We own the destination, and no user code runs from here to the publication, so its tail stays.
        let kept = u32::from(returned != Returned::Nothing);
        let (halves, most) = limit.parts();
        let most = most.min(destination.free_slots_for(most).saturating_add(kept));
        let claim = self.ring.claim_oldest(|count| part_of(count, halves, most))?;
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
