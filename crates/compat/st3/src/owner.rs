//! The owner's end of a ring.

use brigade_queue::Order;
use ref_cast::RefCast;

use crate::drain::Drain;
use crate::error::StealError;
use crate::thief::Stealer;

/// The owner's end of a ring: pushes and pops.
///
/// Not `Sync` and not `Clone`: there is a single owner. Items still queued when it is dropped are left to the stealers,
/// and dropped with the last of them.
#[derive(Debug)]
pub struct Worker<T, O: Order>(pub(crate) brigade_queue::Worker<T, O>);

impl<T, O: Order> Worker<T, O> {
    /// Creates a ring for `min_capacity` items, rounded up to a power of two, at least 1.
    ///
    /// # Panics
    /// If `min_capacity` is over 2³¹, or there is not enough memory.
    pub fn new(min_capacity: usize) -> Self {
        Self(brigade_queue::Worker::new(min_capacity))
    }

    /// Returns a thief's end.
    pub fn stealer(&self) -> Stealer<T, O> {
        self.stealer_ref().clone()
    }

    /// Returns a borrowed thief's end: to compare or to steal without counting a reference.
    pub fn stealer_ref(&self) -> &Stealer<T, O> {
        Stealer::ref_cast(self.0.stealer_ref())
    }

    /// Returns the number of slots.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Returns how many items can certainly be pushed; thieves may free more slots at any time.
    pub fn spare_capacity(&self) -> usize {
        self.0.spare_capacity()
    }

    /// Returns whether no item is queued; then a pop returns `None`.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Queues an item.
    ///
    /// # Errors
    /// The item, if the ring is full. Items claimed by a thief or a drain still take slots.
    #[inline(always)]
    pub fn push(&self, item: T) -> Result<(), T> {
        self.0.push(item)
    }

    /// Queues the items of an iterator, singly, so the iterator may use this queue.
    ///
    /// Takes no more items from the iterator than fit at the beginning; the rest is dropped with it.
    #[inline]
    pub fn extend<I: IntoIterator<Item = T>>(&self, iter: I) {
        self.0.extend(iter);
    }

    /// Takes the newest item (lifo) or the oldest (fifo).
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.0.pop()
    }

    /// Claims the oldest items and returns an iterator over them.
    ///
    /// `count_fn` gets the number of items and returns how many to take. It is called at most once, before anything is
    /// claimed, and may use this queue. Until the iterator has ended or is dropped, thieves get [`StealError::Busy`]; if it is
    /// forgotten, this remains so, and the unyielded items leak.
    ///
    /// # Errors
    /// [`StealError::Empty`] if the ring is empty or `count_fn` returns 0, [`StealError::Busy`] if a thief holds a claim.
    #[inline]
    pub fn drain<C>(&self, count_fn: C) -> Result<Drain<'_, T, O>, StealError>
    where
        C: FnMut(usize) -> usize,
    {
        Ok(Drain(self.0.drain(count_fn)?))
    }
}
