//! The list of blocks and its two ends.

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use brigade_sync::CachePadded;
use brigade_sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::block::{BLOCK_CAP, Block, LAP, Spares};

/// The bit of the tail index, set if the queue is closed.
pub(super) const CLOSED: u64 = 1;
/// The distance of two positions in an index.
pub(super) const STEP: u64 = 2;

/// An end: an index and the block it points into.
pub(super) struct End<T> {
    pub(super) index: AtomicU64,
    pub(super) block: AtomicPtr<Block<T>>,
}

/// An unbounded queue, shared by any number of pushing and popping threads.
///
/// FIFO for each producer. Allocates a block for 511 items when no used block is left.
///
/// ```
/// use brigade_queue::Injector;
/// let injector = Injector::new();
/// injector.push("first")?;
/// injector.push("second")?;
/// injector.close();
/// assert_eq!(injector.push("third"), Err("third"), "a closed injector returns the item");
/// assert_eq!(injector.pop(), Some("first"), "what was accepted stays");
/// assert_eq!(injector.len(), 1);
/// # Ok::<(), &str>(())
/// ```
pub struct Injector<T> {
    pub(super) head: CachePadded<End<T>>,
    pub(super) tail: CachePadded<End<T>>,
    pub(super) spares: CachePadded<Spares<T>>,
    /// Owns the items.
    items: PhantomData<T>,
}

// SAFETY: items move between threads, which `T: Send` allows, and are never shared (Slot rule).
unsafe impl<T: Send> Send for Injector<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Injector<T> {}

// No user code runs inside a claim, so a panic finds the queue consistent.
impl<T> UnwindSafe for Injector<T> {}
impl<T> RefUnwindSafe for Injector<T> {}

/// A run of slots of a block, for the claimer alone.
pub(super) struct ClaimedSlots<T> {
    pub(super) block: *mut Block<T>,
    pub(super) start: usize,
    pub(super) count: usize,
}

/// Returns the number of items up to an index.
fn count(index: u64) -> u64 {
    let position = index / STEP;
    position / LAP * BLOCK_CAP + (position % LAP).min(BLOCK_CAP)
}

impl<T> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Injector<T> {
    /// Creates an empty queue, with the first block.
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

    /// Rejects every push from now on; accepted items can still be popped.
    pub fn close(&self) {
        // Ordering: SeqCst: in a single order with the exchanges of `claim_tail`, so no push succeeds after this.
        self.tail.index.fetch_or(CLOSED, Ordering::SeqCst);
    }

    /// Returns whether the queue is closed.
    pub fn is_closed(&self) -> bool {
        // Ordering: SeqCst, in a single order with the exchange in `close`.
        self.tail.index.load(Ordering::SeqCst) & CLOSED != 0
    }

    /// Returns whether no item is queued; an item counts once the push has claimed a slot.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of queued items; never negative, and exact while no thread pushes or pops.
    #[inline]
    pub fn len(&self) -> usize {
        // Ordering: SeqCst, head first: the tail is never older than the head.
        let head = self.head.index.load(Ordering::SeqCst);
        let tail = self.tail.index.load(Ordering::SeqCst);
        count(tail).saturating_sub(count(head)) as usize
    }

    /// Returns the number of items ever pushed.
    pub fn pushed(&self) -> u64 {
        // Ordering: SeqCst, as in `len`.
        count(self.tail.index.load(Ordering::SeqCst))
    }
}

brigade_sync::opaque!([T] Injector<T>: len, is_closed);
