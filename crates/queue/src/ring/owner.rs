//! The owner's end of a ring.
//!
//! The owner has a private view of the positions in cells: how far it may push, and the claims as it last saw or left
//! them. So a push reads no atomic written by others until the known free slots are used up, and a pop is one
//! compare-exchange without a load to wait for. The fewer cells it writes the better, as the exchange waits for these
//! writes. `brigade-lab queue --pattern push-pop-small` measures it.

use core::cell::Cell;
use core::panic::RefUnwindSafe;

use super::drain::Drain;
use super::error::{NewError, StealError};
use super::order::Order;
use super::shared::Ring;
use super::state::Claims;
use super::thief::Stealer;

/// The owner's end of a ring: pushes and pops.
///
/// Not `Sync` and not `Clone`: there is a single owner. Items still queued when it is dropped are left to the stealers,
/// and dropped with the last of them.
///
/// ```
/// use brigade_queue::lifo;
/// let worker = lifo::Worker::new(4);
/// let thief = lifo::Worker::new(4);
/// for item in 1..=4 {
///     worker.push(item)?;
/// }
/// assert_eq!(worker.push(5), Err(5), "a full ring returns the item");
/// assert_eq!(worker.pop(), Some(4), "the owner pops the newest");
/// assert_eq!(worker.stealer().steal(&thief, |count| count - count / 2), Ok(2), "thieves take the oldest");
/// assert_eq!((worker.len(), thief.len()), (1, 2));
/// assert_eq!(worker.pop(), Some(3));
/// # Ok::<(), i32>(())
/// ```
pub struct Worker<T, O: Order> {
    stealer: Stealer<T, O>,
    /// A position up to which the slots are free; the true position may be further on.
    free_until: Cell<u32>,
    /// The claims as last seen or left: the expected value of the next pop. The owner's own changes are always up to
    /// date; thieves may have advanced the head.
    claims: Cell<u64>,
    /// How far the tail is behind the end: the number of pops in a lifo ring, always 0 in a fifo ring.
    behind: Cell<u32>,
}

impl<T, O: Order> Worker<T, O> {
    /// Creates a ring for `capacity` items, rounded up to a power of two, at least 1.
    ///
    /// Allocates nothing afterwards.
    ///
    /// # Panics
    /// If `capacity` is over 2³¹, or there is not enough memory; [`try_new`](Self::try_new) returns these as errors.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        match Self::try_new(capacity) {
            Ok(worker) => worker,
            // Not in a closure, whose panic could not name the caller's line.
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates a ring for `capacity` items, rounded up to a power of two, at least 1.
    ///
    /// # Errors
    /// [`NewError::Capacity`] if `capacity` is over 2³¹, [`NewError::Memory`] if the slots can't be allocated. The few fields
    /// beside the slots are allocated as an `Arc` is.
    ///
    /// ```
    /// use brigade_queue::{NewError, fifo};
    /// assert_eq!(fifo::Worker::<u8>::try_new(5).map(|worker| worker.capacity()), Ok(8));
    /// assert!(matches!(fifo::Worker::<[u8; 1 << 20]>::try_new(1 << 31), Err(NewError::Memory(_))));
    /// ```
    pub fn try_new(capacity: usize) -> Result<Self, NewError> {
        Self::with_order(capacity, O::default())
    }

    /// Like [`try_new`](Self::try_new), with an order chosen at run time.
    ///
    /// # Errors
    /// As for [`try_new`](Self::try_new).
    ///
    /// ```
    /// use brigade_queue::{Either, Worker};
    /// let pops = |order| {
    ///     let worker = Worker::with_order(2, order)?;
    ///     worker.extend(["oldest", "newest"]);
    ///     Ok::<_, brigade_queue::NewError>(worker.pop())
    /// };
    /// assert_eq!((pops(Either::Lifo), pops(Either::Fifo)), (Ok(Some("newest")), Ok(Some("oldest"))));
    /// ```
    pub fn with_order(capacity: usize, order: O) -> Result<Self, NewError> {
        Self::starting_at(capacity, 0, order)
    }

    /// Creates a ring whose positions begin at `start`, so tests see them wrap.
    pub(super) fn starting_at(capacity: usize, start: u32, order: O) -> Result<Self, NewError> {
        let most = O::MAX_CAPACITY as usize;
        if capacity > most {
            return Err(NewError::Capacity { asked: capacity, most });
        }
        let ring = Ring::try_new(capacity.max(1).next_power_of_two(), start, order)
            .map_err(NewError::Memory)?;
        let (free_until, claims) = (O::plus(start, ring.capacity()), ring.positions.claims());
        Ok(Self {
            stealer: Stealer { ring },
            free_until: Cell::new(free_until),
            claims: Cell::new(claims),
            behind: Cell::new(order.behind(claims)),
        })
    }

    /// Returns the order in which it pops.
    #[inline(always)]
    pub fn order(&self) -> O {
        self.ring().positions.order
    }

    /// Returns a thief's end.
    pub fn stealer(&self) -> Stealer<T, O> {
        self.stealer.clone()
    }

    /// Returns a borrowed thief's end: to compare or to steal without counting a reference.
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
    /// The item, if the ring is full. Items claimed by a thief or a [`Drain`] still take slots; in a fifo ring so do the
    /// items popped by the owner since the claim.
    #[inline(always)]
    pub fn push(&self, item: T) -> Result<(), T> {
        self.push_to_tail(item).map(|_tail| ())
    }

    /// Queues an item; returns the position of the next push.
    #[inline(always)]
    fn push_to_tail(&self, item: T) -> Result<u32, T> {
        let ring = self.ring();
        let end = ring.positions.end();
        let tail = O::between(self.behind.get(), end);
        if self.known_free(tail) == 0 && self.free_slots() == 0 {
            return Err(item);
        }
        // SAFETY: we are the owner (not `Sync`), and the slot at the tail is free.
        unsafe { ring.write(tail, item) };
        ring.positions.publish(O::plus(end, 1));
        Ok(O::plus(tail, 1))
    }

    /// Queues an item; returns how many are queued now, without items claimed by a thief.
    ///
    /// # Errors
    /// The item, if the ring is full.
    #[inline(always)]
    pub fn push_counted(&self, item: T) -> Result<usize, T> {
        let tail = self.push_to_tail(item)?;
        // Our view of the head is at most a lap old, since a push without known free slots refreshes it. So the count may
        // be too large, except if it says that the item is alone.
        let known = O::between(Claims::unpack(self.claims.get()).head, tail);
        Ok(if known == 1 { 1 } else { self.len_up_to(tail) })
    }

    /// Queues the items of an iterator, singly, so the iterator may use this queue.
    ///
    /// Takes no more items from the iterator than fit at the beginning; the rest is dropped with it. To keep the rest, pass
    /// `iterator.by_ref()`. An item whose own `next` has taken the last free slot is dropped.
    pub fn extend<I: IntoIterator<Item = T>>(&self, items: I) {
        let mut items = items.into_iter();
        for _ in 0..self.spare_capacity() {
            match items.next().map(|item| self.push(item)) {
                Some(Ok(())) => {}
                Some(Err(_)) | None => return,
            }
        }
    }

    /// Takes the newest item (lifo) or the oldest (fifo).
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let ring = self.ring();
        let mut claims = self.claims.get();
        let (tail, order) = (self.tail(), ring.positions.order);
        loop {
            if Claims::unpack(claims).head == tail {
                // Our view may be a whole lap of positions old.
                let now = ring.positions.claims();
                if now == claims {
                    return None;
                }
                claims = now;
                self.claims.set(now);
                continue;
            }
            let pop = order.pop(tail, claims);
            match ring.positions.claim_pop(claims, pop.claims) {
                Ok(_) => {
                    // Not in a fifo ring, where it stays 0: the branch costs less than the value of either order.
                    if order.is_lifo() {
                        self.behind.set(order.behind(pop.claims));
                    }
                    self.claims.set(pop.claims);
                    // SAFETY: Claim rule; the pop claimed the position, and only we, the owner, push.
                    return Some(unsafe { ring.read(pop.position) });
                }
                Err(now) => {
                    claims = now;
                    self.claims.set(now);
                }
            }
        }
    }

    /// Claims the oldest items and returns an iterator over them.
    ///
    /// `count_fn` gets the number of items and returns how many to take. It is called at most once, before anything is
    /// claimed, and may use this queue. It never gets more than the capacity.
    ///
    /// Until the iterator has ended or is dropped, thieves get [`StealError::Busy`] and the slots stay in use; in a fifo ring
    /// so do the slots of items popped in the meantime. If the iterator is forgotten, this remains so, and the unyielded items
    /// leak. Then a lifo ring continues with the other slots; a fifo ring takes the rest of a lap and is full afterwards.
    ///
    /// # Errors
    /// [`StealError::Empty`] if the ring is empty or `count_fn` returns 0, [`StealError::Busy`] if a thief holds a claim.
    ///
    /// ```
    /// use brigade_queue::fifo;
    /// let worker = fifo::Worker::new(4);
    /// worker.extend(1..=4);
    /// assert!(worker.drain(|count| count - 1)?.eq([1, 2, 3]));
    /// assert_eq!(worker.pop(), Some(4));
    /// # Ok::<(), brigade_queue::StealError>(())
    /// ```
    pub fn drain<C: FnMut(usize) -> usize>(
        &self,
        count_fn: C,
    ) -> Result<Drain<'_, T, O>, StealError> {
        let most = self.ring().limit_by(count_fn)?;
        let claim = self.ring().claim_oldest(|count| count.min(most))?;
        Ok(Drain::new(self.ring(), claim))
    }

    /// Returns the number of queued items, without items claimed by a thief.
    #[inline]
    pub fn len(&self) -> usize {
        self.len_up_to(self.tail())
    }

    /// Returns the number of queued items, given the position of the next push.
    #[inline(always)]
    fn len_up_to(&self, tail: u32) -> usize {
        let claims = self.ring().positions.claims();
        self.claims.set(claims);
        O::between(Claims::unpack(claims).head, tail) as usize
    }

    /// Returns whether no item is queued; then a pop returns `None`.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of slots.
    pub fn capacity(&self) -> usize {
        self.ring().slots.len()
    }

    /// Returns how many items can certainly be pushed; thieves may free more slots at any time.
    pub fn spare_capacity(&self) -> usize {
        self.free_slots() as usize
    }

    /// Returns how many slots are free from the tail on, by the owner's view.
    #[inline(always)]
    fn known_free(&self, tail: u32) -> u32 {
        O::between(tail, self.free_until.get())
    }

    /// Returns how many slots are free from the tail on, after refreshing the owner's view.
    ///
    /// Inlined: an item to be pushed stays in registers only if there is no call in between.
    #[inline(always)]
    pub(super) fn free_slots(&self) -> u32 {
        let claims = self.ring().positions.acquire_claims();
        self.claims.set(claims);
        let released = self.ring().positions.released(claims);
        self.free_until.set(O::plus(released, self.ring().capacity()));
        self.known_free(self.tail())
    }

    /// Returns how many slots are free from the tail on; refreshes the view only if fewer than `wanted` are known.
    #[inline(always)]
    pub(super) fn free_slots_for(&self, wanted: u32) -> u32 {
        let known = self.known_free(self.tail());
        if known >= wanted { known } else { self.free_slots() }
    }

    /// Returns the position of the next push.
    #[inline(always)]
    pub(super) fn tail(&self) -> u32 {
        O::between(self.behind.get(), self.ring().positions.end())
    }

    /// Makes `count` slots, written from the tail on, visible to thieves.
    #[inline(always)]
    pub(super) fn publish(&self, count: u32) {
        let positions = &self.ring().positions;
        positions.publish(O::plus(positions.end(), count));
    }

    /// Queues at most `most` items with a single publication, as many as fit; returns how many.
    ///
    /// `next` must not panic and must not be user code: it runs before the publication.
    pub(crate) fn fill(&self, most: usize, mut next: impl FnMut() -> T) -> usize {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let count = self.free_slots_for(most).min(most);
        for offset in 0..count {
            // SAFETY: we are the owner (not `Sync`), and `count` slots from the tail on are free.
            unsafe { self.ring().write(O::plus(self.tail(), offset), next()) };
        }
        if count > 0 {
            self.publish(count);
        }
        count as usize
    }

    /// Claims the older half; `None` if the ring is empty or a thief holds a claim.
    pub(crate) fn drain_half(&self) -> Option<Drain<'_, T, O>> {
        let claim = self.ring().claim_oldest(|count| count - count / 2).ok()?;
        Some(Drain::new(self.ring(), claim))
    }
}

// No user code runs while the cells and the ring disagree.
impl<T, O: Order> RefUnwindSafe for Worker<T, O> {}

brigade_sync::opaque!([T, O: Order] Worker<T, O>: len, capacity);
