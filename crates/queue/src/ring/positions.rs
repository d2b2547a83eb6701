//! The positions of a ring, and the claims on them; the crate's `README.md` has the whole protocol.
//!
//! A position is a wrapping number; modulo the capacity it is the index of a slot. From the oldest to the
//! newest:
//!
//! ```text
//! released ..= head ..= tail ..= released + capacity
//!  a thief reads  queued   free to push
//! ```
//!
//! **Claim rule.** Between a claim and its release the claimed positions belong to the claimer alone: no push writes them,
//! and no other thread reads them. The owner's pop needs no release, because only the owner pushes. One thief at a time
//! holds a claim; another thief gets `Busy`.
//!
//! The contended atomic holds two positions in 64 bits. So one compare-exchange moves a claim, and it fails if either side
//! moved first.

use brigade_sync::CachePadded;
use brigade_sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::error::StealError;
use super::order::sealed::Rules;
use super::state::{Claim, Claims, State};

/// The view of a thief before it claims.
pub(super) struct Snapshot {
    claims: u64,
    /// The number of items it may claim, at least 1 and at most the capacity.
    pub(super) count: u32,
}

/// The positions of a ring of this order.
pub(super) struct Positions<O> {
    state: State,
    pub(super) order: O,
}

impl<O: Rules> Positions<O> {
    /// Creates the positions of an empty ring whose first push goes to `start`, as after `start` pops.
    pub(super) fn new(start: u32, order: O) -> Self {
        let claims = Claims { high: start, head: start }.pack();
        let state = State {
            end: CachePadded::new(AtomicU32::new(O::plus(start, order.behind(claims)))),
            claims: CachePadded::new(AtomicU64::new(claims)),
            released: CachePadded::new(AtomicU32::new(start)),
        };
        Self { state, order }
    }

    /// Owner: returns the end.
    #[inline(always)]
    pub(super) fn end(&self) -> u32 {
        // Ordering: Relaxed: no other thread writes it.
        self.state.end.load(Ordering::Relaxed)
    }

    /// Owner: makes the slots written up to this end visible to thieves.
    #[inline(always)]
    pub(super) fn publish(&self, end: u32) {
        // Ordering: Release pairs with the Acquire of `end` in `count`; it publishes the slots.
        self.state.end.store(end, Ordering::Release);
    }

    /// Owner: returns the claims, to find released positions.
    #[inline(always)]
    pub(super) fn acquire_claims(&self) -> u64 {
        // Ordering: Acquire pairs with the Release in `release` of a fifo ring: the thief's reads are over before the
        // owner writes. For lifo, the load of `released` is an Acquire.
        self.state.claims.load(Ordering::Acquire)
    }

    /// Owner: replaces the claims by those after a pop.
    ///
    /// # Errors
    /// The present claims, if not as expected.
    #[inline(always)]
    pub(super) fn claim_pop(&self, expected: u64, next: u64) -> Result<u64, u64> {
        // Ordering: Release pairs with the Acquire of `claims` in `observe`. A thief that sees this pop sees every push before
        // it, and so never counts too few pushes for the pops of a lifo ring. A pop of a fifo ring that advances `released`
        // continues the release sequence of a former thief's release, and so passes the thief's reads on to the owner's next
        // look. Relaxed on failure: the retry decides.
        self.state.claims.compare_exchange(expected, next, Ordering::Release, Ordering::Relaxed)
    }

    /// Owner: returns the present claims.
    #[inline(always)]
    pub(super) fn claims(&self) -> u64 {
        // Ordering: Relaxed: the owner uses it only for a count and as the expected value of the next exchange.
        self.state.claims.load(Ordering::Relaxed)
    }

    /// Thief: returns how many items can be claimed.
    #[inline(always)]
    pub(super) fn observe(&self, capacity: u32) -> Result<Snapshot, StealError> {
        // Ordering: Acquire pairs with the Release of the owner's pop and of `claim`: the end below is no older
        // than these claims, so the tail is not behind the head.
        let claims = self.state.claims.load(Ordering::Acquire);
        let head = Claims::unpack(claims).head;
        if self.order.released(&self.state, claims) != head {
            return Err(StealError::Busy);
        }
        // The atomics were not read at once. A push in between only adds. A pop in between can make the count
        // arbitrary, but it has changed the claims, so `claim` fails. The count is limited all the same.
        let count = self.count(claims).min(capacity);
        if count == 0 { Err(StealError::Empty) } else { Ok(Snapshot { claims, count }) }
    }

    /// Thief: claims the oldest `count` items, at most those of the snapshot; `None` if the claims have changed since.
    #[inline(always)]
    pub(super) fn claim(&self, snapshot: &Snapshot, count: u32) -> Option<Claim> {
        let Claims { high, head } = Claims::unpack(snapshot.claims);
        let next = Claims { high, head: O::plus(head, count) }.pack();
        // Ordering: Release pairs with the Acquires in `observe` and `len`: a thread that sees this claim sees the pushes
        // of the claimed items. Acquire keeps the reads of the slots behind the claim; `end` has made them safe already.
        self.state
            .claims
            .compare_exchange(snapshot.claims, next, Ordering::AcqRel, Ordering::Relaxed)
            .ok()
            .map(|_| Claim { start: head, count })
    }

    /// Counts the items beyond these claims, as far as this thread knows the end.
    #[inline(always)]
    fn count(&self, claims: u64) -> u32 {
        // Ordering: Acquire pairs with the Release in `publish`: the slots are written.
        let end = self.state.end.load(Ordering::Acquire);
        let tail = O::between(self.order.behind(claims), end);
        let count = O::between(Claims::unpack(claims).head, tail);
        if count > O::MAX_CAPACITY { 0 } else { count }
    }

    /// Counts the queued items, from any thread: a recent number.
    pub(super) fn len(&self) -> u32 {
        // Ordering: Acquire as in `observe`.
        self.count(self.state.claims.load(Ordering::Acquire))
    }

    /// Returns the oldest position that a thief may still be reading, by claims loaded with Acquire.
    #[inline(always)]
    pub(super) fn released(&self, claims: u64) -> u32 {
        self.order.released(&self.state, claims)
    }

    /// Thief: releases a claim after its slots have been read.
    #[inline(always)]
    pub(super) fn release(&self, claim: &Claim) {
        self.order.release(&self.state, claim);
    }

    /// Returns a number that changes with each push and each claim.
    pub(super) fn version(&self) -> u64 {
        // Ordering: Relaxed: a statistic.
        let end = self.state.end.load(Ordering::Relaxed);
        self.state.claims.load(Ordering::Relaxed).wrapping_mul(31).wrapping_add(end.into())
    }
}
