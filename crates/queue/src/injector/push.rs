//! The pushing end of an injector.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::ManuallyDrop;

use brigade_sync::atomic::Ordering;
use brigade_sync::hint;

use super::block::{BLOCK_CAP, Block, LAP};
use super::list::{CLOSED, ClaimedSlots, Injector, STEP};
use crate::ring::{Order, Worker};

impl<T> Injector<T> {
    /// Queues an item.
    ///
    /// # Errors
    /// The item, if the queue is closed.
    #[inline(always)]
    pub fn push(&self, item: T) -> Result<(), T> {
        self.push_unless(item, CLOSED)
    }

    /// Queues an item, closed or not: for items accepted elsewhere before the queue was closed.
    #[inline(always)]
    pub fn push_accepted(&self, item: T) {
        let Ok(()) = self.push_unless(item, 0) else { unreachable!("no bit is forbidden") };
    }

    /// Queues an item, or returns it if a `forbidden` bit is set.
    ///
    /// Inlined, so an item goes from the caller's registers to the slot; the claim is not.
    #[inline(always)]
    fn push_unless(&self, item: T, forbidden: u64) -> Result<(), T> {
        // Not dropped if the claim unwinds, which it does not: a drop there would keep the item in memory.
        let item = ManuallyDrop::new(item);
        let (block, slot) = self.claim_slot(forbidden);
        // SAFETY: the block lives until all of its slots have been read, and this slot is not yet written; null
        // means there is no block.
        let Some(block) = (unsafe { block.as_ref() }) else {
            return Err(ManuallyDrop::into_inner(item));
        };
        // SAFETY: Slot rule; we claimed it just now.
        unsafe { block.write(slot, ManuallyDrop::into_inner(item)) };
        Ok(())
    }

    /// Claims a slot for writing; returns the block and the index there, a null block if a `forbidden` bit is set.
    #[inline(never)]
    fn claim_slot(&self, forbidden: u64) -> (*mut Block<T>, usize) {
        match self.claim_tail(1, forbidden) {
            Some(claim) => (claim.block, claim.start),
            None => (core::ptr::null_mut(), 0),
        }
    }

    /// Queues several items in order; no other producer's item comes between items of one block.
    ///
    /// # Errors
    /// The items not queued, in order, if the queue is closed.
    pub fn push_batch(&self, items: Vec<T>) -> Result<(), Vec<T>> {
        let mut items = items.into_iter();
        // SAFETY: a vector's iterator has as many items as it says, and is not user code.
        let are_queued = unsafe { self.push_run(&mut items, CLOSED) };
        if are_queued { Ok(()) } else { Err(items.collect()) }
    }

    /// Queues several items, closed or not, see [`push_accepted`](Self::push_accepted).
    pub fn push_batch_accepted(&self, items: Vec<T>) {
        // SAFETY: as above.
        unsafe { self.push_run(&mut items.into_iter(), 0) };
    }

    /// Moves the older half of a worker here, closed or not; returns how many items.
    ///
    /// Returns 0 if a thief holds a claim: then push to the injector instead, by [`push_accepted`](Self::push_accepted).
    ///
    /// ```
    /// use brigade_queue::{Injector, fifo};
    /// let (worker, injector) = (fifo::Worker::new(4), Injector::new());
    /// worker.extend(0..4);
    /// assert_eq!((worker.push(4), injector.take_overflow(&worker)), (Err(4), 2));
    /// assert_eq!((worker.push(4), injector.pop(), worker.pop()), (Ok(()), Some(0), Some(2)));
    /// ```
    pub fn take_overflow<O: Order>(&self, worker: &Worker<T, O>) -> usize {
        let Some(mut items) = worker.drain_half() else { return 0 };
        let count = items.len();
        // SAFETY: a drain has as many items as it says; it reads the ring's slots, and is not user code.
        unsafe { self.push_run(&mut items, 0) };
        count
    }

    /// Queues the items, or returns `false` and leaves the others if a `forbidden` bit is set.
    ///
    /// # Safety
    /// `items` must have as many items as it says, not be user code and not panic.
    unsafe fn push_run(
        &self,
        items: &mut impl ExactSizeIterator<Item = T>,
        forbidden: u64,
    ) -> bool {
        while items.len() > 0 {
            let Some(claim) = self.claim_tail(items.len(), forbidden) else { return false };
            for slot in claim.start..claim.start + claim.count {
                let Some(item) = items.next() else {
                    unreachable!("the claim was limited to the items")
                };
                // SAFETY: the block lives until all of its slots have been read, and this slot is not yet written.
                let block = unsafe { &*claim.block };
                // SAFETY: Slot rule; we claimed it just now.
                unsafe { block.write(slot, item) };
            }
        }
        true
    }

    /// Claims at most `most` slots of a block for writing; `None` if a `forbidden` bit is set.
    #[inline(always)]
    fn claim_tail(&self, most: usize, forbidden: u64) -> Option<ClaimedSlots<T>> {
        let mut next: Option<Box<Block<T>>> = None;
        let (mut round, mut lost) = (0, 0);
        // Ordering: Acquire pairs with the Release of the change of the index: the block below is at least as new.
        let mut index = self.tail.index.load(Ordering::Acquire);
        loop {
            // Ordering: Acquire pairs with the Release in `install`: the block is initialised.
            let block = self.tail.block.load(Ordering::Acquire);
            let offset = index / STEP % LAP;
            if index & forbidden != 0 {
                if let Some(block) = next {
                    self.spares.recycle(block);
                }
                return None;
            }
            if offset == BLOCK_CAP {
                hint::snooze(round);
                round += 1;
                index = self.tail.index.load(Ordering::Acquire);
                continue;
            }
            let run = (most as u64).min(BLOCK_CAP - offset);
            let last = offset + run == BLOCK_CAP;
            if last && next.is_none() {
                // Before the claim: other threads wait between claim and installation.
                next = Some(self.spares.take());
            }
            // Ordering: SeqCst: with the fence of a worker's last look for work before it sleeps, either the worker
            // sees this change or we see the worker asleep. Relaxed on failure: the index is loaded again.
            match self.tail.index.compare_exchange_weak(
                index,
                index + STEP * run,
                Ordering::SeqCst,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    match next {
                        Some(next) if last => self.install(block, next),
                        Some(unused) => self.spares.recycle(unused),
                        None => {}
                    }
                    return Some(ClaimedSlots {
                        block,
                        start: offset as usize,
                        count: run as usize,
                    });
                }
                Err(_) => {
                    // Another producer is pushing. A retry at once would take the cache line with the index from it,
                    // for one push each time; with a pause each producer pushes many items in a row.
                    hint::back_off(lost);
                    lost += 1;
                    index = self.tail.index.load(Ordering::Acquire);
                }
            }
        }
    }

    /// Appends the next block to `block`, whose last slot the caller has just claimed.
    #[cold]
    fn install(&self, block: *mut Block<T>, next: Box<Block<T>>) {
        let next = Box::into_raw(next);
        // Ordering: Release pairs with the Acquire of `tail.block` in `claim_tail`.
        self.tail.block.store(next, Ordering::Release);
        // Ordering: Release: a thread that sees the index past the gap sees the block above. An addition, since `close`
        // may set a bit at the same time.
        self.tail.index.fetch_add(STEP, Ordering::Release);
        // SAFETY: the block lives until all of its slots have been read, and our slot is not yet written.
        let block = unsafe { &*block };
        // Ordering: Release pairs with the Acquire in `wait_next`.
        block.next.store(next, Ordering::Release);
    }
}
