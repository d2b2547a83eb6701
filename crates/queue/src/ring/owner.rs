//! The owner's end of a ring.
//!
//! The owner keeps what it knows of the positions in cells of its own: its tail, how far it may push, and the
//! claims as it saw or left them last. So a push reads no shared word until the room it knew of is used up, and
//! a pop is one compare-exchange that need not wait for a load. `brigade-lab queue --pattern push-pop-small`
//! measures it.

use alloc::collections::TryReserveError;
use core::cell::Cell;
use core::fmt;
use core::panic::RefUnwindSafe;

use super::{Claim, Drain, IntoIter, Order, Ring, StealError, Stealer, Words};
use crate::Injector;

/// The owner's end of a ring: pushes and pops.
///
/// Not `Sync` and not `Clone`: there is one owner. What is queued when it is dropped stays for the stealers, and
/// is dropped with the last of them; to have it back, turn the worker into an iterator.
///
/// ```
/// use brigade_queue::lifo;
/// let worker = lifo::Worker::new(4);
/// let thief = lifo::Worker::new(4);
/// for item in 1..=4 {
///     worker.push(item).unwrap();
/// }
/// assert_eq!(worker.push(5), Err(5), "full gives the item back");
/// assert_eq!(worker.pop(), Some(4), "the owner pops the newest");
/// assert_eq!(worker.stealer().steal(&thief, |count| count - count / 2), Ok(2), "thieves take the oldest");
/// assert_eq!((worker.len(), thief.len()), (1, 2));
/// assert!(worker.into_iter().eq([3]));
/// ```
pub struct Worker<T, O: Order> {
    stealer: Stealer<T, O>,
    /// Where the next push goes.
    tail: Cell<u32>,
    /// A position up to which pushes are free; the true one may be further on by now.
    limit: Cell<u32>,
    /// The claims as we saw or left them last: what the next pop expects. Its share of the owner's own moves is
    /// always true; thieves may have moved the head on.
    claims: Cell<u64>,
}

/// Why there is no ring.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewError {
    /// More slots were asked for than positions can tell apart.
    Capacity {
        /// How many were asked for.
        asked: usize,
        /// How many there may be.
        most: usize,
    },
    /// There is no memory for so many slots.
    Memory(TryReserveError),
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity { asked, most } => {
                write!(f, "a ring holds at most {most} items, not {asked}; ask for fewer")
            }
            Self::Memory(error) => write!(f, "no memory for the slots of a ring: {error}"),
        }
    }
}

impl core::error::Error for NewError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Capacity { .. } => None,
            Self::Memory(error) => Some(error),
        }
    }
}

impl<T, O: Order> Worker<T, O> {
    /// Allocates a ring for `capacity` items, rounded up to a power of two, at least one. Nothing is allocated
    /// after that.
    ///
    /// # Panics
    /// If `capacity` is over 2³¹, or there is no memory; [`try_new`](Self::try_new) returns these.
    pub fn new(capacity: usize) -> Self {
        Self::try_new(capacity).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Allocates a ring for `capacity` items, rounded up to a power of two, at least one.
    ///
    /// # Errors
    /// [`NewError::Capacity`] if `capacity` is over 2³¹, [`NewError::Memory`] if the slots can't be allocated.
    /// The few words beside the slots are allocated as an `Arc` is.
    ///
    /// ```
    /// use brigade_queue::{NewError, fifo};
    /// assert_eq!(fifo::Worker::<u8>::try_new(5).map(|worker| worker.capacity()), Ok(8));
    /// assert!(matches!(fifo::Worker::<[u8; 1 << 20]>::try_new(1 << 31), Err(NewError::Memory(_))));
    /// ```
    pub fn try_new(capacity: usize) -> Result<Self, NewError> {
        Self::starting_at(capacity, 0)
    }

    /// A ring whose positions begin at `start`, so that tests see them wrap.
    pub(super) fn starting_at(capacity: usize, start: u32) -> Result<Self, NewError> {
        let most = O::MOST as usize;
        if capacity > most {
            return Err(NewError::Capacity { asked: capacity, most });
        }
        let ring =
            Ring::try_new(capacity.max(1).next_power_of_two(), start).map_err(NewError::Memory)?;
        let (limit, claims) = (O::plus(start, ring.capacity()), ring.positions.claims());
        Ok(Self {
            stealer: Stealer { ring },
            tail: Cell::new(start),
            limit: Cell::new(limit),
            claims: Cell::new(claims),
        })
    }

    /// Makes a thief's end.
    pub fn stealer(&self) -> Stealer<T, O> {
        self.stealer.clone()
    }

    /// Borrows a thief's end: to compare with another, or to steal, without counting a reference.
    pub fn stealer_ref(&self) -> &Stealer<T, O> {
        &self.stealer
    }

    #[inline(always)]
    pub(super) fn ring(&self) -> &Ring<T, O> {
        &self.stealer.ring
    }

    /// Queues an item.
    ///
    /// # Errors
    /// Gives it back if the ring is full. What a thief or a [`Drain`] is just taking still counts as there; in a fifo
    /// ring so does what the owner has popped since that began.
    #[inline(always)]
    pub fn push(&self, item: T) -> Result<(), T> {
        if self.known_room() == 0 && self.room() == 0 {
            return Err(item);
        }
        // SAFETY: we are the owner (not `Sync`), and there is room.
        unsafe { self.ring().write(self.tail.get(), item) };
        self.publish(1);
        Ok(())
    }

    /// Queues an item and says how many are queued now, without those that a thief is just taking.
    ///
    /// # Errors
    /// Gives it back if the ring is full.
    #[inline(always)]
    pub fn push_counted(&self, item: T) -> Result<usize, T> {
        self.push(item)?;
        // What we know of the head is a lap old at most, since whoever runs out of room looks. So the count may be
        // too large, unless it says that the item is alone.
        let known = O::between(Words::of(self.claims.get()).head, self.tail.get());
        Ok(if known == 1 { 1 } else { self.len() })
    }

    /// Queues an item; a full ring first moves its older half to `injector`, which takes it even if it is closed,
    /// since a ring holds only what was accepted once. Returns how many items went to the injector: the item
    /// itself goes there too if a thief is busy with the ring.
    ///
    /// ```
    /// use brigade_queue::{Injector, fifo};
    /// let (worker, injector) = (fifo::Worker::new(4), Injector::new());
    /// let moved: usize = (0..6).map(|item| worker.push_overflowing(item, &injector)).sum();
    /// assert_eq!((moved, worker.len(), injector.len()), (2, 4, 2));
    /// assert_eq!((injector.pop(), worker.pop()), (Some(0), Some(2)));
    /// ```
    #[inline]
    pub fn push_overflowing(&self, item: T, injector: &Injector<T>) -> usize {
        let Err(item) = self.push(item) else {
            return 0;
        };
        let moved = injector.take_overflow(self);
        match self.push(item) {
            Ok(()) => moved,
            Err(item) => {
                injector.push_accepted(item);
                moved + 1
            }
        }
    }

    /// Queues the items of an iterator, one by one, so that the iterator may use this queue.
    ///
    /// Asks the iterator for no more items than fit at the beginning; what is left in it is dropped with it. To keep
    /// that, hand in `iterator.by_ref()`. An item whose own `next` has taken the last room is dropped.
    pub fn extend<I: IntoIterator<Item = T>>(&self, items: I) {
        let mut items = items.into_iter();
        for _ in 0..self.spare_capacity() {
            match items.next().map(|item| self.push(item)) {
                Some(Ok(())) => {}
                Some(Err(_)) | None => return,
            }
        }
    }

    /// Takes the item that the ring's order puts next.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let tail = self.tail.get();
        let mut claims = self.claims.get();
        loop {
            if Words::of(claims).head == tail {
                // What we know may be a whole lap of positions old.
                let now = self.ring().positions.claims();
                if now == claims {
                    return None;
                }
                claims = now;
                self.claims.set(now);
                continue;
            }
            let pop = O::pop(tail, claims);
            match self.ring().positions.claim_pop::<O>(claims, pop.claims) {
                Ok(_) => {
                    self.claims.set(pop.claims);
                    self.tail.set(pop.tail);
                    // SAFETY: Claim rule; the pop claimed the position, and only we, the owner, push.
                    return Some(unsafe { self.ring().read(pop.position) });
                }
                Err(now) => {
                    claims = now;
                    self.claims.set(now);
                }
            }
        }
    }

    /// Claims the oldest items and iterates over them; `count_fn` gets how many there are and says how many of
    /// them to take.
    ///
    /// Until the iterator is through or dropped, thieves are told [`StealError::Busy`] and the slots stay in use, in
    /// a fifo ring those too that are popped meanwhile. If it is forgotten, that remains so, and what it had not
    /// yielded leaks: a lifo ring goes on with the other slots, a fifo ring takes the rest of one lap and is then full
    /// for ever.
    ///
    /// `count_fn` is called once at most, before anything is claimed, and may use this queue; it is never told
    /// more than the capacity.
    ///
    /// # Errors
    /// [`StealError::Empty`] if there is nothing to take or `count_fn` wants nothing, [`StealError::Busy`] if a
    /// thief is at it.
    ///
    /// ```
    /// use brigade_queue::fifo;
    /// let worker = fifo::Worker::new(4);
    /// worker.extend(1..=4);
    /// assert!(worker.drain(|count| count - 1).unwrap().eq([1, 2, 3]));
    /// assert_eq!(worker.pop(), Some(4));
    /// ```
    pub fn drain<C: FnMut(usize) -> usize>(
        &self,
        count_fn: C,
    ) -> Result<Drain<'_, T, O>, StealError> {
        let (_, most) = self.ring().ask(count_fn)?.parts();
        let claim = self.ring().claim_oldest(|count| count.min(most))?;
        Ok(Drain::new(self.ring(), claim))
    }

    /// Counts what is queued, without what a thief is just taking.
    #[inline]
    pub fn len(&self) -> usize {
        self.claims.set(self.ring().positions.claims());
        O::between(Words::of(self.claims.get()).head, self.tail.get()) as usize
    }

    /// Whether nothing is queued; a pop then finds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts the slots.
    pub fn capacity(&self) -> usize {
        self.ring().slots.len()
    }

    /// Counts the items that can be pushed for certain; thieves make room meanwhile.
    pub fn spare_capacity(&self) -> usize {
        self.room() as usize
    }

    /// How many slots are free from the tail on, as far as we know without looking.
    #[inline(always)]
    fn known_room(&self) -> u32 {
        O::between(self.tail.get(), self.limit.get())
    }

    /// How many slots are free from the tail on, after a look.
    ///
    /// Inlined: an item that is about to be pushed stays in registers only if there is no call meanwhile.
    #[inline(always)]
    pub(super) fn room(&self) -> u32 {
        let claims = self.ring().positions.acquire_claims();
        self.claims.set(claims);
        let released = O::released(&self.ring().positions, claims);
        self.limit.set(O::plus(released, self.ring().capacity()));
        self.known_room()
    }

    /// How many slots are free from the tail on: looks only if fewer than `wanted` are known.
    #[inline(always)]
    pub(super) fn room_for(&self, wanted: u32) -> u32 {
        let known = self.known_room();
        if known >= wanted { known } else { self.room() }
    }

    /// Where the next push goes.
    #[inline(always)]
    pub(super) fn tail(&self) -> u32 {
        self.tail.get()
    }

    /// Makes `count` slots, written from the tail on, visible to thieves.
    #[inline(always)]
    pub(super) fn publish(&self, count: u32) {
        let tail = O::plus(self.tail.get(), count);
        self.tail.set(tail);
        self.ring().positions.publish::<O>(tail, self.claims.get());
    }

    /// Queues several items with one publication: as many of `most` as there is room for; returns how many.
    ///
    /// `next` must not panic and must not be user code: it runs before the publication.
    pub(crate) fn fill(&self, most: usize, mut next: impl FnMut() -> T) -> usize {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let count = self.room_for(most).min(most);
        for offset in 0..count {
            // SAFETY: we are the owner (not `Sync`), and there is room.
            unsafe { self.ring().write(O::plus(self.tail.get(), offset), next()) };
        }
        if count > 0 {
            self.publish(count);
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
        let Ok(claim) = self.ring().claim_oldest(|count| count - count / 2) else {
            return 0;
        };
        let Claim { count, .. } = claim;
        let mut items = Drain::new(self.ring(), claim);
        take(&mut items);
        debug_assert_eq!(items.len(), 0);
        count as usize
    }
}

// No user code runs while the cells and the ring disagree.
impl<T, O: Order> RefUnwindSafe for Worker<T, O> {}

impl<T, O: Order> IntoIterator for Worker<T, O> {
    type Item = T;
    type IntoIter = IntoIter<Self>;

    /// Pops what is queued, in the ring's order, beside thieves that may still be stealing.
    fn into_iter(self) -> IntoIter<Self> {
        IntoIter(self)
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
