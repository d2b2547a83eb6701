//! Positions of a ring: who may claim which, in the two orders.
//!
//! Positions are 32 bits wide and wrap; a slot's index is its position modulo the capacity. From the
//! oldest to the newest:
//!
//! ```text
//! released ..= head ..= tail ..= released + capacity
//!  thief copies   queued    free to push
//! ```
//!
//! **Claim rule.** Between a claim and its release the positions claimed belong to the claimer alone:
//! no push writes them and no other thief reads them. The owner's pop needs no release, because only
//! the owner pushes. One thief at a time holds a claim; a second one is told `Busy`.
//!
//! Both orders keep the word that owner and thieves contend for in 64 bits, so that one
//! compare-exchange moves a claim and fails if anybody else moved first. It can succeed wrongly only
//! if 2³² claims pass while one claimer is preempted between its load and its exchange.
//!
//! The fifo word follows tokio's queue, the lifo word that of the crate `st3`.

use brigade_sync::CachePadded;
use brigade_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A run of positions that belongs to whoever claimed it.
pub struct Claim {
    /// The oldest position of the run.
    pub start: u32,
    /// How many there are, at least one.
    pub count: u32,
}

/// Why nothing was stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealError {
    /// There was nothing to take.
    Empty,
    /// Another thief holds a claim, or won the race for one: try again, or elsewhere.
    Busy,
}

/// Which end the owner pops: [`Lifo`](crate::lifo::Lifo) or [`Fifo`](crate::fifo::Fifo).
pub trait Order: sealed::Positions {}

pub(super) mod sealed {
    use super::{Claim, StealError};

    /// The claims of an order. Methods marked *owner* may be called by one thread at a time.
    pub trait Positions: Default + Send + Sync {
        /// Owner: where the next push goes, and how many slots are free from there on.
        fn vacant(&self, capacity: u32) -> (u32, u32);
        /// Owner: makes `count` slots, written from the vacant position on, visible to thieves.
        fn publish(&self, count: u32);
        /// Owner: claims the position that its order pops next.
        fn claim_pop(&self) -> Option<u32>;
        /// Claims the oldest positions; `limit` says how many of those that are there.
        fn claim_oldest(&self, limit: impl FnOnce(u32) -> u32) -> Result<Claim, StealError>;
        /// Gives a claim of `claim_oldest` back, after the slots have been read.
        fn release(&self, claim: &Claim);
        /// How many items are queued; for a thread other than the owner a recent number.
        fn len(&self) -> u32;
        /// A number that changes with each push and each claim: equal numbers, nothing moved.
        fn mark(&self) -> u64;
    }
}
use sealed::Positions;

const fn join(high: u32, low: u32) -> u64 {
    ((high as u64) << 32) | low as u64
}

#[allow(clippy::cast_possible_truncation)]
const fn split(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// What may be claimed between two positions read at different times: nothing if they have crossed.
fn between(head: u32, tail: u32) -> u32 {
    let count = tail.wrapping_sub(head);
    if count > 1 << 31 { 0 } else { count }
}

/// The owner pops the newest.
#[derive(Default)]
pub struct Lifo {
    /// How often the owner pushed; `tail = pushes - pops`. Written by the owner.
    pushes: CachePadded<AtomicU32>,
    /// `(pops, head)`: the claims of the owner at the new end, and of thieves at the old.
    claims: CachePadded<AtomicU64>,
    /// The oldest position that a thief may still be reading. Written by the thief that holds the claim.
    released: AtomicU32,
}

impl Order for Lifo {}

impl Positions for Lifo {
    #[inline]
    fn vacant(&self, capacity: u32) -> (u32, u32) {
        let (pops, _) = split(self.claims.load(Ordering::Relaxed));
        let tail = self.pushes.load(Ordering::Relaxed).wrapping_sub(pops);
        // Ordering: Acquire pairs with the Release in `release`: the thief's reads are over before we write.
        let released = self.released.load(Ordering::Acquire);
        (tail, capacity - tail.wrapping_sub(released))
    }

    #[inline]
    fn publish(&self, count: u32) {
        let pushes = self.pushes.load(Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire of `pushes` in `claim_oldest`; it publishes the slots.
        self.pushes.store(pushes.wrapping_add(count), Ordering::Release);
    }

    #[inline]
    fn claim_pop(&self) -> Option<u32> {
        let pushes = self.pushes.load(Ordering::Relaxed);
        let mut claims = self.claims.load(Ordering::Relaxed);
        loop {
            let (pops, head) = split(claims);
            let tail = pushes.wrapping_sub(pops);
            if tail == head {
                return None;
            }
            // Ordering: Release pairs with the Acquire of `claims` in `claim_oldest`: a thief that sees
            // this pop sees every push before it, and so never counts too few pushes for its pops.
            match self.claims.compare_exchange_weak(
                claims,
                join(pops.wrapping_add(1), head),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(tail.wrapping_sub(1)),
                Err(now) => claims = now,
            }
        }
    }

    fn claim_oldest(&self, limit: impl FnOnce(u32) -> u32) -> Result<Claim, StealError> {
        // Ordering: Acquire pairs with the Release in `claim_pop`, see there.
        let claims = self.claims.load(Ordering::Acquire);
        let (pops, head) = split(claims);
        // Ordering: Acquire pairs with the Release in `release`: it hands the former thief's reads
        // on to the owner through our own release.
        if self.released.load(Ordering::Acquire) != head {
            return Err(StealError::Busy);
        }
        // Ordering: Acquire pairs with the Release in `publish`: the slots are written.
        let tail = self.pushes.load(Ordering::Acquire).wrapping_sub(pops);
        let count = limit(between(head, tail));
        if count == 0 {
            return Err(StealError::Empty);
        }
        // Ordering: AcqRel keeps the copy behind the claim; the loads above did the rest.
        match self.claims.compare_exchange(
            claims,
            join(pops, head.wrapping_add(count)),
            Ordering::AcqRel,
            Ordering::Relaxed,
        ) {
            Ok(_) => Ok(Claim { start: head, count }),
            Err(_) => Err(StealError::Busy),
        }
    }

    fn release(&self, claim: &Claim) {
        // Ordering: Release pairs with the Acquire in `vacant`; the copy is done.
        self.released.store(claim.start.wrapping_add(claim.count), Ordering::Release);
    }

    fn len(&self) -> u32 {
        // Ordering: Acquire as in `claim_oldest`, so that pushes are not counted older than pops.
        let (pops, head) = split(self.claims.load(Ordering::Acquire));
        between(head, self.pushes.load(Ordering::Acquire).wrapping_sub(pops))
    }

    fn mark(&self) -> u64 {
        let pushes = self.pushes.load(Ordering::Relaxed);
        self.claims.load(Ordering::Relaxed).wrapping_mul(31).wrapping_add(pushes.into())
    }
}

/// The owner pops the oldest.
#[derive(Default)]
pub struct Fifo {
    /// Where the next push goes. Written by the owner.
    tail: CachePadded<AtomicU32>,
    /// `(released, head)`: unequal while a thief copies what lies between them.
    claims: CachePadded<AtomicU64>,
}

impl Order for Fifo {}

impl Positions for Fifo {
    #[inline]
    fn vacant(&self, capacity: u32) -> (u32, u32) {
        let tail = self.tail.load(Ordering::Relaxed);
        // Ordering: Acquire pairs with the Release in `release`: the thief's reads are over before we write.
        let (released, _) = split(self.claims.load(Ordering::Acquire));
        (tail, capacity - tail.wrapping_sub(released))
    }

    #[inline]
    fn publish(&self, count: u32) {
        let tail = self.tail.load(Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire of `tail` in `claim_oldest`; it publishes the slots.
        self.tail.store(tail.wrapping_add(count), Ordering::Release);
    }

    #[inline]
    fn claim_pop(&self) -> Option<u32> {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut claims = self.claims.load(Ordering::Relaxed);
        loop {
            let (released, head) = split(claims);
            if head == tail {
                return None;
            }
            let next = head.wrapping_add(1);
            // While a thief copies, what it claimed stays unreleased.
            let released = if released == head { next } else { released };
            // Ordering: AcqRel: when it moves `released` on, a former thief's reads go with it to `vacant`.
            match self.claims.compare_exchange_weak(
                claims,
                join(released, next),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(head),
                Err(now) => claims = now,
            }
        }
    }

    fn claim_oldest(&self, limit: impl FnOnce(u32) -> u32) -> Result<Claim, StealError> {
        // Ordering: Acquire orders the load of `tail` behind this one: tail is never older than head.
        let claims = self.claims.load(Ordering::Acquire);
        let (released, head) = split(claims);
        if released != head {
            return Err(StealError::Busy);
        }
        // Ordering: Acquire pairs with the Release in `publish`: the slots are written.
        let tail = self.tail.load(Ordering::Acquire);
        let count = limit(between(head, tail));
        if count == 0 {
            return Err(StealError::Empty);
        }
        // Ordering: AcqRel keeps the copy behind the claim and hands a former thief's release on.
        match self.claims.compare_exchange(
            claims,
            join(released, head.wrapping_add(count)),
            Ordering::AcqRel,
            Ordering::Relaxed,
        ) {
            Ok(_) => Ok(Claim { start: head, count }),
            Err(_) => Err(StealError::Busy),
        }
    }

    fn release(&self, _claim: &Claim) {
        let mut claims = self.claims.load(Ordering::Relaxed);
        loop {
            // The owner may have popped on meanwhile; all up to its head is released.
            let (_, head) = split(claims);
            // Ordering: Release pairs with the Acquire in `vacant`; the copy is done.
            match self.claims.compare_exchange_weak(
                claims,
                join(head, head),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => claims = now,
            }
        }
    }

    fn len(&self) -> u32 {
        // Ordering: Acquire as in `claim_oldest`: tail is never older than head.
        let (_, head) = split(self.claims.load(Ordering::Acquire));
        between(head, self.tail.load(Ordering::Acquire))
    }

    fn mark(&self) -> u64 {
        let tail = self.tail.load(Ordering::Relaxed);
        self.claims.load(Ordering::Relaxed).wrapping_mul(31).wrapping_add(tail.into())
    }
}
