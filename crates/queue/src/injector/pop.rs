//! The popping end of an injector.

use alloc::boxed::Box;

use brigade_sync::atomic::Ordering;
use brigade_sync::hint;

use super::block::{BLOCK_CAP, Block, LAP};
use super::list::{ClaimedSlots, Injector, STEP};
use crate::ring::{Order, Worker};

impl<T> Injector<T> {
    /// Takes the oldest item.
    ///
    /// Inlined, so an item goes from the slot directly to its use; the claim is not.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let (block, start) = self.claim_oldest();
        if block.is_null() {
            return None;
        }
        let claim = ClaimedSlots { block, start, count: 1 };
        // SAFETY: Slot rule; the claim is ours and its only slot is read once.
        let item = unsafe { self.read(&claim, 0) };
        self.finish_reading(&claim);
        Some(item)
    }

    /// Claims a slot for reading; returns the block and the index there, a null block if the queue is empty.
    #[inline(never)]
    fn claim_oldest(&self) -> (*mut Block<T>, usize) {
        match self.claim_head(1) {
            Some(claim) => (claim.block, claim.start),
            None => (core::ptr::null_mut(), 0),
        }
    }

    /// Takes several items of a block: returns the first and moves the others, in order, to `worker`.
    ///
    /// `most` includes the returned item; no more are taken than fit.
    ///
    /// ```
    /// use brigade_queue::{Injector, fifo};
    /// let (injector, worker) = (Injector::new(), fifo::Worker::new(4));
    /// injector.push_batch((0..9).collect())?;
    /// assert_eq!(injector.pop_batch_into(&worker, 3), Some(0));
    /// assert_eq!((worker.len(), injector.len()), (2, 6));
    /// # Ok::<(), Vec<i32>>(())
    /// ```
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
        debug_assert_eq!(filled, claim.count - 1, "only the owner, which we are, uses slots");
        self.finish_reading(&claim);
        Some(first)
    }

    /// Claims at most `most` slots of a block for reading; `None` if the queue is empty.
    #[inline]
    fn claim_head(&self, most: usize) -> Option<ClaimedSlots<T>> {
        if most == 0 {
            return None;
        }
        let (mut round, mut lost) = (0, 0);
        // Ordering: Acquire pairs with the Release of the change of the index: the block below is at least as new.
        let mut index = self.head.index.load(Ordering::Acquire);
        loop {
            // Ordering: Acquire pairs with the Release in `step`: the block is initialised.
            let block = self.head.block.load(Ordering::Acquire);
            let position = index / STEP;
            let offset = position % LAP;
            // Ordering: Acquire: a push whose claim we see has published its block.
            let tail = self.tail.index.load(Ordering::Acquire) / STEP;
            if offset == BLOCK_CAP {
                hint::snooze(round);
                round += 1;
                index = self.head.index.load(Ordering::Acquire);
                continue;
            }
            let there = if tail / LAP == position / LAP {
                tail.saturating_sub(position).min(BLOCK_CAP - offset)
            } else if tail > position {
                BLOCK_CAP - offset
            } else {
                0
            };
            if there == 0 {
                return None;
            }
            let run = there.min(most as u64);
            // Ordering: SeqCst, so the changes of both ends have a single order for `is_empty`. Relaxed on failure: the
            // index is loaded again.
            match self.head.index.compare_exchange_weak(
                index,
                index + STEP * run,
                Ordering::SeqCst,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    if offset + run == BLOCK_CAP {
                        self.step(block);
                    }
                    return Some(ClaimedSlots {
                        block,
                        start: offset as usize,
                        count: run as usize,
                    });
                }
                Err(_) => {
                    // As in `claim_tail`.
                    hint::back_off(lost);
                    lost += 1;
                    index = self.head.index.load(Ordering::Acquire);
                }
            }
        }
    }

    /// Advances the head to the block after `block`, whose last slot the caller has just claimed.
    #[cold]
    fn step(&self, block: *mut Block<T>) {
        // SAFETY: the block lives until all of its slots have been read, and our slot has not.
        let next = unsafe { &*block }.wait_next();
        // Ordering: Release pairs with the Acquire of `head.block` in `claim_head`.
        self.head.block.store(next, Ordering::Release);
        // Ordering: Release: a thread that sees the index past the gap sees the block above.
        self.head.index.fetch_add(STEP, Ordering::Release);
    }

    /// Moves an item out of the slots claimed by `claim_head`.
    ///
    /// # Safety
    /// The claim must be the caller's, `offset` must lie in it, and each item must be read once.
    #[inline]
    unsafe fn read(&self, claim: &ClaimedSlots<T>, offset: usize) -> T {
        // SAFETY: the block lives until all of its slots have been read, and this slot has not.
        let block = unsafe { &*claim.block };
        // SAFETY: Slot rule, guaranteed by the caller.
        unsafe { block.read(claim.start + offset) }
    }

    /// Releases the slots claimed by `claim_head`, once all of them have been read.
    #[inline]
    fn finish_reading(&self, claim: &ClaimedSlots<T>) {
        // SAFETY: the block lives until all of its slots are counted as read, which happens now.
        let block = unsafe { &*claim.block };
        if block.finish_reading(claim.count as u32) {
            // SAFETY: it came from a box. Every slot has been read, and both ends have left the block: the claimers of the
            // last slot advanced them before they wrote and read it. So no other thread has a pointer to it.
            self.spares.recycle(unsafe { Box::from_raw(claim.block) });
        }
    }
}

impl<T> Drop for Injector<T> {
    fn drop(&mut self) {
        /// Frees the last block, also if the drop of an item panics.
        struct Rest<'a, T>(&'a Injector<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while self.0.pop().is_some() {}
                // Ordering: Relaxed: `&mut` in `drop`, so no other thread has access.
                let block = self.0.head.block.load(Ordering::Relaxed);
                // SAFETY: head and tail are in this block, which came from a box; `&mut` in `drop`.
                drop(unsafe { Box::from_raw(block) });
            }
        }
        let rest = Rest(self);
        while rest.0.pop().is_some() {}
    }
}
