//! The popping end of an injector.

use alloc::boxed::Box;

use brigade_sync::atomic::Ordering;
use brigade_sync::hint;

use super::block::{Block, LAP, SLOTS};
use super::{Claim, Injector, STEP};
use crate::ring::{IntoIter, Limit, Order, Worker};

impl<T> Injector<T> {
    /// Takes the oldest item.
    pub fn pop(&self) -> Option<T> {
        let mut taken = None;
        self.pop_run(1, |item| taken = Some(item));
        taken
    }

    /// Takes several items of one block: returns the first and queues the others, in order, on `worker`.
    ///
    /// The limit counts the one returned and goes by what is queued now; no more are taken than fit.
    ///
    /// ```
    /// use brigade_queue::{Injector, Limit, fifo};
    /// let (injector, worker) = (Injector::new(), fifo::Worker::new(4));
    /// injector.push_batch((0..9).collect()).unwrap();
    /// assert_eq!(injector.pop_batch_into(&worker, Limit::AtMost(3)), Some(0));
    /// assert_eq!((worker.len(), injector.len()), (2, 6));
    /// ```
    pub fn pop_batch_into<O: Order>(&self, worker: &Worker<T, O>, limit: Limit) -> Option<T> {
        let most = match limit {
            Limit::AtMost(most) => most,
            limit => limit.of(self.len()),
        };
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
        if most == 0 {
            return None;
        }
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
}

impl<T> IntoIterator for Injector<T> {
    type Item = T;
    type IntoIter = IntoIter<Self>;

    /// Pops what is queued, the oldest first.
    fn into_iter(self) -> IntoIter<Self> {
        IntoIter(self)
    }
}
