//! The pushing end of an injector.

use alloc::boxed::Box;
use alloc::vec::{self, Vec};
use core::mem::ManuallyDrop;

use brigade_sync::atomic::Ordering;
use brigade_sync::hint;

use super::block::{Block, LAP, SLOTS};
use super::{CLOSED, Claim, Injector, STEP};
use crate::ring::{Order, Worker};

impl<T> Injector<T> {
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
        let (mut round, mut lost) = (0, 0);
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
            // they see this move or we see that they sleep. Relaxed on failure: the index is loaded again.
            match self.tail.index.compare_exchange_weak(
                index,
                index + STEP * run,
                Ordering::SeqCst,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    match next {
                        Some(next) if last => self.install(block, next),
                        Some(unused) => self.spares.keep(unused),
                        None => {}
                    }
                    return Some(Claim { block, start: offset as usize, count: run as usize });
                }
                Err(_) => {
                    // Another producer is at it. Whoever comes back at once takes the line with the index away
                    // from it, for one push; whoever waits lets it push many times, and then does so itself.
                    hint::back_off(lost);
                    lost += 1;
                    index = self.tail.index.load(Ordering::Acquire);
                }
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
}
