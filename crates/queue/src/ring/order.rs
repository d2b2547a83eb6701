//! The differences between the two orders: how the atomics of [`State`] are read, and how a pop changes them.

use brigade_sync::atomic::Ordering;

use super::state::{Claim, Claims, State};

/// The end popped by the owner: [`Lifo`](crate::lifo::Lifo) or [`Fifo`](crate::fifo::Fifo).
pub trait Order: sealed::Rules + 'static {}

/// The changes made by a pop of the owner.
pub struct Pop {
    /// The claims after it.
    pub(super) claims: u64,
    /// The position to take.
    pub(super) position: u32,
}

pub(super) mod sealed {
    use super::{Claim, Ordering, Pop, State};

    /// The rules of an order. All positions are numbers modulo 2^[`BITS`](Self::BITS).
    pub trait Rules: Sized {
        /// Width of a position: 32, except for tests in which it wraps.
        const BITS: u32;
        /// The ordering of the exchange by which a pop claims.
        const POP: Ordering;

        /// Returns the position of the next push.
        fn tail(end: u32, claims: u64) -> u32;
        /// Returns the end for this tail. `count` further on, both are.
        fn end(tail: u32, claims: u64) -> u32;
        /// Returns the oldest position that a thief may still be reading.
        fn released(state: &State, claims: u64) -> u32;
        /// Returns the changes of the next pop of a non-empty ring.
        fn pop(tail: u32, claims: u64) -> Pop;
        /// Releases a claim after its slots have been read.
        fn release(state: &State, claim: &Claim);

        /// Returns the position `count` further on.
        #[inline(always)]
        fn plus(position: u32, count: u32) -> u32 {
            position.wrapping_add(count) & (u32::MAX >> (32 - Self::BITS))
        }

        /// Returns the distance from an earlier position to a later one.
        #[inline(always)]
        fn between(earlier: u32, later: u32) -> u32 {
            later.wrapping_sub(earlier) & (u32::MAX >> (32 - Self::BITS))
        }

        /// The largest capacity: with more slots a full ring and an empty one, or a crossed pair of positions, would look
        /// the same.
        const MAX_CAPACITY: u32 = 1 << (Self::BITS - 1);
    }
}
use sealed::Rules;

/// The owner pops the newest item.
///
/// `claims` is `(pops, head)`, the end is the number of pushes, and `tail = pushes - pops`; `released` is a separate
/// atomic. The thief's half of the atomics is taken from the crate `st3`.
#[derive(Debug)]
pub struct Lifo<const BITS: u32 = 32>(());

impl<const BITS: u32> Order for Lifo<BITS> {}

impl<const BITS: u32> Rules for Lifo<BITS> {
    const BITS: u32 = BITS;
    // Ordering: Release pairs with the Acquire of `claims` in `observe`. A thief that sees this pop sees every push before
    // it, and so never counts too few pushes for its pops.
    const POP: Ordering = Ordering::Release;

    #[inline(always)]
    fn tail(end: u32, claims: u64) -> u32 {
        Self::between(Claims::unpack(claims).high, end)
    }

    #[inline(always)]
    fn end(tail: u32, claims: u64) -> u32 {
        Self::plus(tail, Claims::unpack(claims).high)
    }

    #[inline(always)]
    fn released(state: &State, _claims: u64) -> u32 {
        // Ordering: Acquire pairs with the Release in `release`. For the owner: the thief's reads are over before it
        // writes. For a thief: the former thief's reads are passed on to the owner through the present thief's release.
        state.released.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn pop(tail: u32, claims: u64) -> Pop {
        let Claims { high: pops, head } = Claims::unpack(claims);
        let position = Self::between(1, tail);
        Pop { claims: Claims { high: Self::plus(pops, 1), head }.pack(), position }
    }

    #[inline(always)]
    fn release(state: &State, claim: &Claim) {
        // Ordering: Release pairs with the Acquire in `released`; the slots have been read.
        state.released.store(Self::plus(claim.start, claim.count), Ordering::Release);
    }
}

/// The owner pops the oldest item.
///
/// `claims` is `(released, head)`, which differ while a thief reads the positions between them; the end is the tail itself.
/// `claims` is laid out as in tokio's queue.
#[derive(Debug)]
pub struct Fifo<const BITS: u32 = 32>(());

impl<const BITS: u32> Order for Fifo<BITS> {}

impl<const BITS: u32> Rules for Fifo<BITS> {
    const BITS: u32 = BITS;
    // Ordering: Release pairs with the Acquire of `claims` in `observe`, as in a lifo ring. A pop that advances `released`
    // continues the release sequence of a former thief's release, and so passes the thief's reads on to the owner's next
    // look.
    const POP: Ordering = Ordering::Release;

    #[inline(always)]
    fn tail(end: u32, _claims: u64) -> u32 {
        end
    }

    #[inline(always)]
    fn end(tail: u32, _claims: u64) -> u32 {
        tail
    }

    #[inline(always)]
    fn released(_state: &State, claims: u64) -> u32 {
        // The claims were loaded with Acquire.
        Claims::unpack(claims).high
    }

    #[inline(always)]
    fn pop(_tail: u32, claims: u64) -> Pop {
        let Claims { high: released, head } = Claims::unpack(claims);
        let next = Self::plus(head, 1);
        // While a thief reads, the claimed positions stay unreleased.
        let high = if released == head { next } else { released };
        Pop { claims: Claims { high, head: next }.pack(), position: head }
    }

    #[inline(always)]
    fn release(state: &State, _claim: &Claim) {
        // The owner may have popped in the meantime; everything up to the head is released.
        let next = |claims| {
            let Claims { head, .. } = Claims::unpack(claims);
            Some(Claims { high: head, head }.pack())
        };
        // Ordering: Release pairs with the Acquire in `acquire_claims`; the slots have been read. Every change of this
        // atomic is a read-modify-write, so later changes continue the release sequence. Relaxed on failure: the
        // exchange decides.
        _ = state.claims.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }
}
