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

use alloc::boxed::Box;
use alloc::vec::{self, Vec};
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use brigade_sync::CachePadded;
use brigade_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use brigade_sync::hint;

use crate::ring::{Order, Worker};
use block::{Block, LAP, SLOTS, Spares};

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

    /// Queues an item.
    ///
    /// # Errors
    /// Gives it back if the queue is closed.
    #[inline(always)]
    pub fn push(&self, item: T) -> Result<(), T> {
        self.push_unless(item, CLOSED)
    }

    /// Queues an item, closed or not: for work that was accepted elsewhere before the queue was closed.
    pub fn push_accepted(&self, item: T) {
        let Ok(()) = self.push_unless(item, 0) else { unreachable!("nothing forbids it") };
    }

    /// Queues an item, or gives it back if a `forbidden` bit is set.
    ///
    /// Inlined, so that an item goes from the caller's registers to its slot; the claim is not.
    #[inline(always)]
    fn push_unless(&self, item: T, forbidden: u64) -> Result<(), T> {
        // Not dropped if the claim unwinds, for which there is no reason: a drop there would keep it in memory.
        let item = ManuallyDrop::new(item);
        let (block, slot) = self.claim_slot(forbidden);
        // SAFETY: the block lives until all of its slots are read, and this one is not yet written; null
        // says that there is none.
        let Some(block) = (unsafe { block.as_ref() }) else {
            return Err(ManuallyDrop::into_inner(item));
        };
        // SAFETY: Slot rule; we claimed it just now.
        unsafe { block.write(slot, ManuallyDrop::into_inner(item)) };
        Ok(())
    }

    /// Claims one slot for writing: its block and its place there. A null block if a `forbidden` bit is set.
    #[inline(never)]
    fn claim_slot(&self, forbidden: u64) -> (*mut Block<T>, usize) {
        match self.claim_tail(1, forbidden) {
            Some(claim) => (claim.block, claim.start),
            None => (core::ptr::null_mut(), 0),
        }
    }

    /// Queues several items in order; no other producer's item comes between those of one block.
    ///
    /// # Errors
    /// Gives back those that were not queued, in order, if the queue is closed.
    pub fn push_batch(&self, items: Vec<T>) -> Result<(), Vec<T>> {
        self.push_run(items.into_iter(), CLOSED).map_err(Iterator::collect)
    }

    /// Queues several items, closed or not, see [`push_accepted`](Self::push_accepted).
    pub fn push_batch_accepted(&self, items: Vec<T>) {
        // Nothing forbids it, so nothing comes back.
        let _ = self.push_run(items.into_iter(), 0);
    }

    fn push_run(
        &self,
        mut items: vec::IntoIter<T>,
        forbidden: u64,
    ) -> Result<(), vec::IntoIter<T>> {
        while items.len() > 0 {
            let Some(claim) = self.claim_tail(items.len(), forbidden) else {
                return Err(items);
            };
            // SAFETY: Slot rule; we claimed them just now. A vector's iterator is no user code.
            unsafe { self.write(&claim, items.by_ref()) };
        }
        Ok(())
    }

    /// Claims at most `most` slots of one block for writing; `None` if a `forbidden` bit is set.
    #[inline(always)]
    fn claim_tail(&self, most: usize, forbidden: u64) -> Option<Claim<T>> {
        let mut next: Option<Box<Block<T>>> = None;
        let mut round = 0;
        // Ordering: Acquire pairs with the Release of whoever moved the index: the block below is as new.
        let mut index = self.tail.index.load(Ordering::Acquire);
        loop {
            // Ordering: Acquire pairs with the Release in `install`: the block is whole.
            let block = self.tail.block.load(Ordering::Acquire);
            let offset = index / STEP % LAP;
            if index & forbidden != 0 {
                if let Some(block) = next {
                    self.spares.keep(block);
                }
                return None;
            }
            if offset == SLOTS {
                hint::snooze(round);
                round += 1;
                index = self.tail.index.load(Ordering::Acquire);
                continue;
            }
            let run = (most as u64).min(SLOTS - offset);
            let last = offset + run == SLOTS;
            if last && next.is_none() {
                // Before the claim: the others wait between claim and installation.
                next = Some(self.spares.take());
            }
            // Ordering: SeqCst: with the fence of whoever looks last for work before it sleeps, either
            // they see this move or we see that they sleep. Acquire on failure as above.
            match self.tail.index.compare_exchange_weak(
                index,
                index + STEP * run,
                Ordering::SeqCst,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    match next {
                        Some(next) if last => self.install(block, next),
                        Some(unused) => self.spares.keep(unused),
                        None => {}
                    }
                    return Some(Claim { block, start: offset as usize, count: run as usize });
                }
                Err(now) => index = now,
            }
        }
    }

    /// Puts the next block behind `block`, whose last slot the caller has just claimed.
    #[cold]
    fn install(&self, block: *mut Block<T>, next: Box<Block<T>>) {
        let next = Box::into_raw(next);
        // Ordering: Release pairs with the Acquire of `tail.block` in `claim_tail`.
        self.tail.block.store(next, Ordering::Release);
        // Ordering: Release: who sees the index past the gap sees the block above. An addition, since
        // `close` may set its bit meanwhile.
        self.tail.index.fetch_add(STEP, Ordering::Release);
        // SAFETY: the block is alive until all of its slots are read, and ours is not yet written.
        let block = unsafe { &*block };
        // Ordering: Release pairs with the Acquire in `wait_next`.
        block.next.store(next, Ordering::Release);
    }

    /// Fills a claim of `claim_tail`.
    ///
    /// # Safety
    /// The claim is the caller's; `items` yields at least as many items, is no user code and does not panic.
    #[inline]
    unsafe fn write(&self, claim: &Claim<T>, mut items: impl Iterator<Item = T>) {
        for slot in claim.start..claim.start + claim.count {
            let Some(item) = items.next() else { unreachable!("the claim was cut to the items") };
            // SAFETY: the block lives until all of its slots are read, and this one is not yet written.
            let block = unsafe { &*claim.block };
            // SAFETY: Slot rule, by the caller.
            unsafe { block.write(slot, item) };
        }
    }

    /// Makes room on a full worker: moves the older half of it here, closed or not; returns how many.
    ///
    /// 0 if another thief is at it; push to the injector instead.
    pub fn take_overflow<O: Order>(&self, worker: &Worker<T, O>) -> usize {
        worker.move_half(|items| {
            let mut left = items.len();
            while left > 0 {
                let Some(claim) = self.claim_tail(left, 0) else {
                    unreachable!("nothing forbids it")
                };
                left -= claim.count;
                // SAFETY: Slot rule; we claimed them just now, and `items` reads the ring's slots.
                unsafe { self.write(&claim, &mut *items) };
            }
        })
    }

    /// Takes the oldest item.
    pub fn pop(&self) -> Option<T> {
        let mut taken = None;
        self.pop_run(1, |item| taken = Some(item));
        taken
    }

    /// Takes several items of one block: returns the first and queues the others, in order, on `worker`.
    ///
    /// At most `most` in all, and no more than fit.
    pub fn pop_batch_into<O: Order>(&self, worker: &Worker<T, O>, most: usize) -> Option<T> {
        let claim = self.claim_head(most.min(worker.spare_capacity() + 1))?;
        // SAFETY: Slot rule; the claim is ours and each slot is read once, the first here.
        let first = unsafe { self.read(&claim, 0) };
        let mut offset = 0;
        let filled = worker.fill(claim.count - 1, || {
            offset += 1;
            // SAFETY: Slot rule as above; `fill` calls at most `count - 1` times.
            unsafe { self.read(&claim, offset) }
        });
        debug_assert_eq!(filled, claim.count - 1, "only the owner, which we are, takes room away");
        self.finish(&claim);
        Some(first)
    }

    /// Gives at most `most` of the oldest items to `take`, in order; returns how many.
    ///
    /// `take` must not be user code: it runs inside a claim.
    fn pop_run(&self, most: usize, mut take: impl FnMut(T)) -> usize {
        let Some(claim) = self.claim_head(most) else {
            return 0;
        };
        for offset in 0..claim.count {
            // SAFETY: Slot rule; the claim is ours and each slot is read once.
            take(unsafe { self.read(&claim, offset) });
        }
        self.finish(&claim);
        claim.count
    }

    /// Claims at most `most` slots of one block for reading; `None` if the queue is empty.
    #[inline]
    fn claim_head(&self, most: usize) -> Option<Claim<T>> {
        let mut round = 0;
        // Ordering: Acquire pairs with the Release of whoever moved the index: the block below is as new.
        let mut index = self.head.index.load(Ordering::Acquire);
        loop {
            // Ordering: Acquire pairs with the Release in `step`: the block is whole.
            let block = self.head.block.load(Ordering::Acquire);
            let position = index / STEP;
            let offset = position % LAP;
            // Ordering: Acquire: a claim that we see hands over the block that it is in.
            let tail = self.tail.index.load(Ordering::Acquire) / STEP;
            if offset == SLOTS {
                hint::snooze(round);
                round += 1;
                index = self.head.index.load(Ordering::Acquire);
                continue;
            }
            let there = if tail / LAP == position / LAP {
                tail.saturating_sub(position).min(SLOTS - offset)
            } else if tail > position {
                SLOTS - offset
            } else {
                0
            };
            if there == 0 {
                return None;
            }
            let run = there.min(most as u64);
            // Ordering: SeqCst, so that the moves of both ends have one order for `is_empty`. Acquire on
            // failure as above.
            match self.head.index.compare_exchange_weak(
                index,
                index + STEP * run,
                Ordering::SeqCst,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    if offset + run == SLOTS {
                        self.step(block);
                    }
                    return Some(Claim { block, start: offset as usize, count: run as usize });
                }
                Err(now) => index = now,
            }
        }
    }

    /// Moves the head to the block after `block`, whose last slot the caller has just claimed.
    #[cold]
    fn step(&self, block: *mut Block<T>) {
        // SAFETY: the block is alive until all of its slots are read, and ours is not.
        let next = unsafe { &*block }.wait_next();
        // Ordering: Release pairs with the Acquire of `head.block` in `claim_head`.
        self.head.block.store(next, Ordering::Release);
        // Ordering: Release: who sees the index past the gap sees the block above.
        self.head.index.fetch_add(STEP, Ordering::Release);
    }

    /// Moves one item of a claim of `claim_head` out.
    ///
    /// # Safety
    /// The claim is the caller's, `offset` lies in it, and each item is read once.
    #[inline]
    unsafe fn read(&self, claim: &Claim<T>, offset: usize) -> T {
        // SAFETY: the block is alive until all of its slots are read, and this one is not.
        let block = unsafe { &*claim.block };
        // SAFETY: Slot rule, by the caller.
        unsafe { block.read(claim.start + offset) }
    }

    /// Gives a claim of `claim_head` back once all of it has been read.
    #[inline]
    fn finish(&self, claim: &Claim<T>) {
        // SAFETY: the block is alive until all of its slots are counted as read, which we do now.
        let block = unsafe { &*claim.block };
        if block.finish(claim.count as u32) {
            // SAFETY: it came from a box; every slot has been read, both ends have moved on (the last
            // slot's claimers moved them before they wrote and read it), so nobody else has it.
            self.spares.keep(unsafe { Box::from_raw(claim.block) });
        }
    }

    /// Refuses every push from now on; what was accepted stays to be popped.
    pub fn close(&self) {
        // Ordering: SeqCst: one order with the exchanges of `claim_tail`, so a push that succeeded after
        // this does not exist.
        self.tail.index.fetch_or(CLOSED, Ordering::SeqCst);
    }

    /// Whether [`close`](Self::close) has been called.
    pub fn is_closed(&self) -> bool {
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
        count(self.tail.index.load(Ordering::SeqCst))
    }
}

impl<T> Drop for Injector<T> {
    fn drop(&mut self) {
        /// Frees the last block, also when the drop of an item panics.
        struct Rest<'a, T>(&'a Injector<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while self.0.pop().is_some() {}
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
