//! The injector: what any thread pushes to and any thread pops from, in order.
//!
//! A list of blocks with two indices, as crossbeam's `SegQueue` and `Injector` have it. An index is a
//! position shifted left by one; positions count [`LAP`] to a block, of which the last has no slot.
//! A push claims a position by moving the tail index, in the same step in which it sees that the
//! queue is not closed; then it writes the slot and marks it ready. A pop claims a run of positions
//! by moving the head index, and reads each slot when it is ready.
//!
//! Whoever claims the last slot of a block installs the next one; meanwhile the index stands on the
//! position without a slot, and the others wait. The block goes back to the spares when all of its
//! slots have been read.
//!
//! What this is not: lock-free in the strict sense. A pusher that loses the processor between its
//! claim and its store delays the popper that claimed its slot; both give their processor away.

mod block;
mod pop;
mod push;
mod sharded;

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use brigade_sync::CachePadded;
use brigade_sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use block::{Block, LAP, SLOTS, Spares};
pub use sharded::{Cursor, ShardedInjector};

/// The bit of the tail index that says that the queue is closed.
const CLOSED: u64 = 1;
/// What one position adds to an index.
const STEP: u64 = 2;

/// One end: an index and the block it is in.
struct End<T> {
    index: AtomicU64,
    block: AtomicPtr<Block<T>>,
}

/// An unbounded queue that any thread may push to and pop from.
///
/// FIFO for each producer. Allocates a block of 511 items now and then when no used one is left over.
///
/// ```
/// use brigade_queue::Injector;
/// let injector = Injector::new();
/// injector.push("first").unwrap();
/// injector.push("second").unwrap();
/// injector.close();
/// assert_eq!(injector.push("third"), Err("third"), "closed gives the item back");
/// assert_eq!(injector.pop(), Some("first"), "what was accepted stays");
/// assert_eq!(injector.len(), 1);
/// ```
pub struct Injector<T> {
    head: CachePadded<End<T>>,
    tail: CachePadded<End<T>>,
    spares: CachePadded<Spares<T>>,
    /// Owns items.
    items: PhantomData<T>,
}

// SAFETY: items move between threads, which `T: Send` allows, and are never shared (Slot rule).
unsafe impl<T: Send> Send for Injector<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Injector<T> {}

// No user code runs inside a claim, so a panic finds the queue whole.
impl<T> UnwindSafe for Injector<T> {}
impl<T> RefUnwindSafe for Injector<T> {}

/// A run of slots of one block that the claimer alone may touch.
struct Claim<T> {
    block: *mut Block<T>,
    start: usize,
    count: usize,
}

/// How many items there are up to an index.
fn count(index: u64) -> u64 {
    let position = index / STEP;
    position / LAP * SLOTS + (position % LAP).min(SLOTS)
}

impl<T> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Injector<T> {
    /// Makes an empty queue, with its first block.
    pub fn new() -> Self {
        let block = Box::into_raw(Block::new());
        let end =
            || CachePadded::new(End { index: AtomicU64::new(0), block: AtomicPtr::new(block) });
        Self {
            head: end(),
            tail: end(),
            spares: CachePadded::new(Spares::new()),
            items: PhantomData,
        }
    }

    /// Refuses every push from now on, until [`reopen`](Self::reopen); what was accepted stays to be popped.
    pub fn close(&self) {
        // Ordering: SeqCst: one order with the exchanges of `claim_tail`, so a push that succeeded after
        // this does not exist.
        self.tail.index.fetch_or(CLOSED, Ordering::SeqCst);
    }

    /// Accepts pushes again; what a push was refused meanwhile does not come by itself.
    ///
    /// ```
    /// let injector = brigade_queue::Injector::new();
    /// injector.close();
    /// assert_eq!(injector.push(1), Err(1));
    /// injector.reopen();
    /// assert_eq!(injector.push(2), Ok(()));
    /// ```
    pub fn reopen(&self) {
        // Ordering: SeqCst, in one order with the exchange in `close`. A push that read the index before that one may
        // succeed after this one: the index says that nothing has moved, so all that it read is as it was.
        self.tail.index.fetch_and(!CLOSED, Ordering::SeqCst);
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        // Ordering: SeqCst, in one order with the exchange in `close`.
        self.tail.index.load(Ordering::SeqCst) & CLOSED != 0
    }

    /// Whether nothing is queued; a push that has claimed its place counts.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts what is queued; never negative, and exact when nobody pushes or pops.
    #[inline]
    pub fn len(&self) -> usize {
        // Ordering: SeqCst, head first: the tail is never older than the head.
        let head = self.head.index.load(Ordering::SeqCst);
        let tail = self.tail.index.load(Ordering::SeqCst);
        count(tail).saturating_sub(count(head)) as usize
    }

    /// Counts what was ever pushed.
    pub fn pushed(&self) -> u64 {
        // Ordering: SeqCst, as in `len`.
        count(self.tail.index.load(Ordering::SeqCst))
    }

    /// Counts what was ever popped; an item counts once its popper has claimed it.
    pub fn popped(&self) -> u64 {
        // Ordering: SeqCst, as in `len`.
        count(self.head.index.load(Ordering::SeqCst))
    }
}

impl<T> Drop for Injector<T> {
    fn drop(&mut self) {
        /// Frees the last block, also when the drop of an item panics.
        struct Rest<'a, T>(&'a Injector<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while self.0.pop().is_some() {}
                // Ordering: Relaxed: `&mut` in `drop`, so nobody else is there.
                let block = self.0.head.block.load(Ordering::Relaxed);
                // SAFETY: head and tail are in this one block, which came from a box; `&mut` in `drop`.
                drop(unsafe { Box::from_raw(block) });
            }
        }
        let rest = Rest(self);
        while rest.0.pop().is_some() {}
    }
}

impl<T> fmt::Debug for Injector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector")
            .field("len", &self.len())
            .field("closed", &self.is_closed())
            .finish()
    }
}
