//! The owner's end of a ring.

use alloc::sync::Arc;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use brigade_sync::cell::UnsafeCell;

use super::{Limit, Order, Ring, Stealer};

/// The owner's end of a ring: pushes and pops.
///
/// Not `Sync` and not `Clone`: there is one owner. Dropping it drops what is queued.
///
/// ```
/// use brigade_queue::{lifo, Limit};
/// let worker = lifo::Worker::new(4);
/// let thief = lifo::Worker::new(4);
/// for item in 1..=4 {
///     worker.push(item).unwrap();
/// }
/// assert_eq!(worker.push(5), Err(5), "full gives the item back");
/// assert_eq!(worker.pop(), Some(4), "the owner pops the newest");
/// assert_eq!(worker.stealer().steal_into(&thief, Limit::Half), Ok(1), "thieves take the oldest");
/// assert_eq!((worker.len(), thief.len()), (1, 1), "half of three is two; one was returned");
/// ```
pub struct Worker<T, O: Order> {
    pub(super) ring: Arc<Ring<T, O>>,
    /// Not `Sync`: the owner's methods are for one thread at a time.
    owner: PhantomData<Cell<()>>,
}

impl<T, O: Order> Worker<T, O> {
    /// Allocates a ring for `capacity` items, rounded up to a power of two.
    ///
    /// # Panics
    /// If `capacity` is over 2³¹, or the memory cannot be had.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity <= 1 << 31, "a ring holds at most 2^31 items, not {capacity}");
        let slots = (0..capacity.max(1).next_power_of_two())
            .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
            .collect();
        Self { ring: Arc::new(Ring { slots, order: O::default() }), owner: PhantomData }
    }

    /// Makes a thief's end.
    pub fn stealer(&self) -> Stealer<T, O> {
        Stealer { ring: self.ring.clone() }
    }

    /// Queues an item.
    ///
    /// # Errors
    /// Gives it back if the ring is full.
    #[inline(always)]
    pub fn push(&self, item: T) -> Result<(), T> {
        self.push_counted(item).map(drop)
    }

    /// Queues an item and says how many are queued now, those that a thief is just taking included.
    ///
    /// # Errors
    /// Gives it back if the ring is full.
    #[inline(always)]
    pub fn push_counted(&self, item: T) -> Result<usize, T> {
        let capacity = self.ring.capacity();
        let (position, vacant) = self.ring.order.vacant(capacity);
        if vacant == 0 {
            return Err(item);
        }
        // SAFETY: we are the owner (not `Sync`), and `vacant` said that the slot is free.
        unsafe { self.ring.write(position, item) };
        self.ring.order.publish(1);
        Ok((capacity - vacant) as usize + 1)
    }

    /// Queues several items with one publication: as many of `items` as there is room for, at most `most`.
    ///
    /// `items` must not be user code: it runs before the publication.
    pub(crate) fn fill(&self, most: usize, mut next: impl FnMut() -> T) -> usize {
        let (position, vacant) = self.ring.order.vacant(self.ring.capacity());
        let count = vacant.min(u32::try_from(most).unwrap_or(u32::MAX));
        for offset in 0..count {
            // SAFETY: we are the owner (not `Sync`), and `vacant` said that the slots are free.
            unsafe { self.ring.write(position.wrapping_add(offset), next()) };
        }
        if count > 0 {
            self.ring.order.publish(count);
        }
        count as usize
    }

    /// Claims the older half, gives it to `take` in order, and releases it; returns how many.
    ///
    /// `take` must read every item, must not panic and must not be user code.
    pub(crate) fn move_half(
        &self,
        take: impl FnOnce(&mut dyn ExactSizeIterator<Item = T>),
    ) -> usize {
        let ring = &*self.ring;
        let Ok(claim) = ring.order.claim_oldest(|count| Limit::Half.of(count.min(ring.capacity())))
        else {
            return 0;
        };
        let mut items = (0..claim.count as usize).map(|offset| {
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            // SAFETY: Claim rule; the claim is ours until `release` below, and each is read once.
            unsafe { ring.read(claim.start.wrapping_add(offset)) }
        });
        take(&mut items);
        debug_assert_eq!(items.len(), 0);
        ring.order.release(&claim);
        claim.count as usize
    }

    /// Takes the item that the ring's order puts next.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let position = self.ring.order.claim_pop()?;
        // SAFETY: Claim rule; the pop just claimed the position, and only we, the owner, push.
        Some(unsafe { self.ring.read(position) })
    }

    /// Counts what is queued.
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.order.len() as usize
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts the slots.
    pub fn capacity(&self) -> usize {
        self.ring.slots.len()
    }

    /// Counts the slots that a push would find free.
    pub fn spare_capacity(&self) -> usize {
        self.ring.order.vacant(self.ring.capacity()).1 as usize
    }
}

impl<T, O: Order> Drop for Worker<T, O> {
    fn drop(&mut self) {
        /// Goes on when the drop of an item panics.
        struct Rest<'a, T, O: Order>(&'a Worker<T, O>);
        impl<T, O: Order> Drop for Rest<'_, T, O> {
            fn drop(&mut self) {
                while self.0.pop().is_some() {}
            }
        }
        let rest = Rest(self);
        while rest.0.pop().is_some() {}
    }
}

impl<T, O: Order> fmt::Debug for Worker<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish()
    }
}
