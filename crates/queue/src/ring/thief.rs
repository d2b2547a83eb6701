//! A thief's end of a ring.

use alloc::sync::Arc;
use core::fmt;

use brigade_sync::hint;

use super::limit::part_of;
use super::{Drain, Limit, Order, Ring, StealError, Worker};

/// A thief's end of a ring: takes the oldest items.
///
/// Thieves get in each other's way: while one moves its items, the others are told [`StealError::Busy`] at once.
pub struct Stealer<T, O: Order> {
    pub(super) ring: Arc<Ring<T, O>>,
}

/// Which of the stolen items is returned instead of queued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    Nothing,
    Oldest,
    Newest,
}

impl<T, O: Order> Stealer<T, O> {
    /// Moves the oldest items to `destination`, in order; `count_fn` gets how many there are and says how many of
    /// them to take. Returns how many were moved: no more than fit.
    ///
    /// `count_fn` is called once at most, before anything is read or claimed, and may use either queue; it is
    /// never told more than the capacity. If there are fewer items by then, fewer are taken.
    ///
    /// # Errors
    /// [`StealError::Empty`] if there is nothing to take, no room for it, or `count_fn` wants nothing;
    /// [`StealError::Busy`] if another thief is at it.
    #[inline]
    pub fn steal<C: FnMut(usize) -> usize>(
        &self,
        destination: &Worker<T, O>,
        count_fn: C,
    ) -> Result<usize, StealError> {
        let limit = self.ring.ask(count_fn)?;
        self.transfer(destination, limit, Returned::Nothing).map(|(_, count)| count)
    }

    /// Takes the oldest items: returns the newest of them and moves the others to `destination`, in order; as
    /// [`steal`](Self::steal) otherwise. The count is that of the items moved, without the one returned.
    ///
    /// # Errors
    /// As for [`steal`](Self::steal), but a full destination is none: one item can be returned.
    #[inline]
    pub fn steal_and_pop<C: FnMut(usize) -> usize>(
        &self,
        destination: &Worker<T, O>,
        count_fn: C,
    ) -> Result<(T, usize), StealError> {
        let limit = self.ring.ask(count_fn)?;
        let (item, count) = self.transfer(destination, limit, Returned::Newest)?;
        item.map(|item| (item, count)).ok_or(StealError::Empty)
    }

    /// Moves the oldest items to `destination`, in order; returns how many: at least one, and no more than fit.
    ///
    /// When another thief is at it, tries again, up to `retries` times, each after a pause twice as long as the one
    /// before: up to 2⁶ spins, and from the eighth on a `yield` of the thread (with the feature `std`).
    ///
    /// # Errors
    /// [`StealError::Empty`] if there is nothing to take, no room for it, or the limit is 0;
    /// [`StealError::Busy`] if another thief was at it each time.
    ///
    /// ```
    /// use brigade_queue::{Limit, StealError, fifo};
    /// let (victim, thief) = (fifo::Worker::new(8), fifo::Worker::new(8));
    /// victim.extend(0..5);
    /// assert_eq!(victim.stealer_ref().steal_batch(&thief, Limit::Half, 3), Ok(3));
    /// let claim = victim.drain(|_| 1).unwrap();
    /// assert_eq!(victim.stealer_ref().steal_batch(&thief, Limit::Half, 3), Err(StealError::Busy));
    /// # drop(claim);
    /// ```
    #[inline]
    pub fn steal_batch(
        &self,
        destination: &Worker<T, O>,
        limit: Limit,
        retries: u32,
    ) -> Result<usize, StealError> {
        self.retry(retries, || self.transfer(destination, limit, Returned::Nothing))
            .map(|(_, count)| count)
    }

    /// Takes the oldest items: returns the oldest of them, which has waited longest, and moves the others to
    /// `destination`, in order. Returns also how many were moved. Tries again as
    /// [`steal_batch`](Self::steal_batch) does.
    ///
    /// # Errors
    /// As for [`steal_batch`](Self::steal_batch), but a full destination is none: one item can be returned.
    #[inline]
    pub fn steal_batch_and_pop(
        &self,
        destination: &Worker<T, O>,
        limit: Limit,
        retries: u32,
    ) -> Result<(T, usize), StealError> {
        let (item, count) =
            self.retry(retries, || self.transfer(destination, limit, Returned::Oldest))?;
        item.map(|item| (item, count)).ok_or(StealError::Empty)
    }

    /// Takes the oldest item.
    ///
    /// # Errors
    /// [`StealError::Empty`] if there is nothing to take, [`StealError::Busy`] if another thief is at it.
    pub fn steal_one(&self) -> Result<T, StealError> {
        let claim = self.ring.claim_oldest(|_| 1)?;
        Drain::new(&self.ring, claim).next().ok_or(StealError::Empty)
    }

    #[inline]
    fn retry<R>(
        &self,
        retries: u32,
        mut steal: impl FnMut() -> Result<R, StealError>,
    ) -> Result<R, StealError> {
        for round in 0..retries {
            match steal() {
                Err(StealError::Busy) => hint::snooze(round),
                result => return result,
            }
        }
        steal()
    }

    /// Moves the oldest items, one of them to the caller if it wants one; counts those moved to `destination`.
    #[inline(always)]
    fn transfer(
        &self,
        destination: &Worker<T, O>,
        limit: Limit,
        returned: Returned,
    ) -> Result<(Option<T>, usize), StealError> {
        // From here to the publication nothing runs but this: we own the destination, so its tail stays.
        let kept = u32::from(returned != Returned::Nothing);
        let (halves, most) = limit.parts();
        let most = most.min(destination.room_for(most).saturating_add(kept));
        let claim = self.ring.claim_oldest(|count| part_of(count, halves, most))?;
        let moved = claim.count - kept;
        let (first, taken) = match returned {
            Returned::Nothing => (claim.start, None),
            Returned::Oldest => (O::plus(claim.start, 1), Some(claim.start)),
            Returned::Newest => (claim.start, Some(O::plus(claim.start, moved))),
        };
        // SAFETY: Claim rule: the claim is ours until the release below. We own the destination (`Worker` is not
        // `Sync`), and the claim was cut to its room.
        unsafe { self.ring.move_run(first, destination.ring(), destination.tail(), moved) };
        // SAFETY: Claim rule as above; it is not in the run.
        let taken = taken.map(|position| unsafe { self.ring.read(position) });
        O::release(&self.ring.positions, &claim);
        if moved > 0 {
            destination.publish(moved);
        }
        Ok((taken, moved as usize))
    }

    /// Counts what is queued, a moment ago: 0 only if it was empty, never more than the capacity, and possibly too
    /// large while the owner is at work.
    pub fn len(&self) -> usize {
        self.ring.positions.len::<O>().min(self.ring.capacity()) as usize
    }

    /// Whether nothing was queued, a moment ago.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number that changes when anything is pushed, popped or stolen.
    ///
    /// Two equal marks around a time in which [`len`](Self::len) was not 0 say that the oldest item has been
    /// waiting all that time.
    pub fn mark(&self) -> u64 {
        self.ring.positions.mark()
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
