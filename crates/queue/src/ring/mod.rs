//! A bounded ring that one thread owns and others steal from; the claims are in [`order`].
//!
//! What it is not: growable. A full ring gives the item back, and the caller has an injector for it.

mod order;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use brigade_sync::cell::UnsafeCell;

use order::Claim;
pub use order::{Fifo, Lifo, Order, StealError};

/// How much of a queue a thief takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Half of what is there, rounded up.
    Half,
    /// This many items, or all if there are fewer; none if it is 0.
    AtMost(usize),
}

impl Limit {
    fn of(self, count: u32) -> u32 {
        match self {
            Self::Half => count - count / 2,
            Self::AtMost(most) => count.min(u32::try_from(most).unwrap_or(u32::MAX)),
        }
    }
}

/// The slots of a ring and the positions in it.
struct Ring<T, O> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    order: O,
}

// SAFETY: items move between threads, which `T: Send` allows, and are never shared; slots are reached by
// the Claim rule alone.
unsafe impl<T: Send, O: Send> Send for Ring<T, O> {}
// SAFETY: as above; the owner's methods are kept to one thread by `Worker`, which is not `Sync`.
unsafe impl<T: Send, O: Sync> Sync for Ring<T, O> {}

impl<T, O: Order> Ring<T, O> {
    #[inline(always)]
    fn slot(&self, position: u32) -> &UnsafeCell<MaybeUninit<T>> {
        // SAFETY: there is at least one slot and their number is a power of two (`Worker::new`), so the
        // masked position is one of them. Unchecked, because a check that could unwind here would keep the
        // item that is about to be written in memory instead of in registers.
        unsafe { self.slots.get_unchecked(position as usize & (self.slots.len() - 1)) }
    }

    #[inline(always)]
    fn capacity(&self) -> u32 {
        // At most 2^31 (`Worker::new`).
        self.slots.len() as u32
    }

    /// Moves an item out.
    ///
    /// # Safety
    /// The position is claimed by the caller (Claim rule), and is read once.
    #[inline(always)]
    unsafe fn read(&self, position: u32) -> T {
        self.slot(position).with(|slot| {
            // SAFETY: Claim rule, by the caller; it was written before it was published.
            unsafe { slot.cast::<T>().read() }
        })
    }

    /// Moves an item in.
    ///
    /// # Safety
    /// The caller is the owner, and the position is vacant and not yet published.
    #[inline(always)]
    unsafe fn write(&self, position: u32, item: T) {
        self.slot(position).with_mut(|slot| {
            // SAFETY: the position is vacant, by the caller: nobody else reads or writes it.
            unsafe { slot.cast::<T>().write(item) }
        });
    }

    /// Moves a whole claim out, gives each item to `take` in order, and releases it.
    ///
    /// `take` must not panic and must not be user code.
    fn take(&self, claim: &Claim, mut take: impl FnMut(T)) {
        for offset in 0..claim.count {
            // SAFETY: Claim rule; the claim is ours until `release` below.
            take(unsafe { self.read(claim.start.wrapping_add(offset)) });
        }
        self.order.release(claim);
    }
}

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
    ring: Arc<Ring<T, O>>,
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

/// A thief's end of a ring: takes the oldest items.
pub struct Stealer<T, O: Order> {
    ring: Arc<Ring<T, O>>,
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

#[cfg(all(test, not(brigade_loom)))]
mod tests;
