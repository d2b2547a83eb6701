//! What differs between the two orders: how the words of [`Positions`] are read, and what a pop does to them.

use brigade_sync::atomic::Ordering;

use super::positions::{Claim, Positions, Words};

/// Which end the owner pops: [`Lifo`](crate::lifo::Lifo) or [`Fifo`](crate::fifo::Fifo).
pub trait Order: sealed::Rules + 'static {}

/// What a pop of the owner changes.
pub struct Pop {
    /// The claims after it.
    pub(super) claims: u64,
    /// The position that it takes.
    pub(super) position: u32,
    /// The tail after it.
    pub(super) tail: u32,
}

pub(super) mod sealed {
    use super::{Claim, Ordering, Pop, Positions};

    /// The rules of an order. All positions are numbers modulo 2^[`BITS`](Self::BITS).
    pub trait Rules: Sized {
        /// Width of a position: 32, but for tests that want to see it wrap.
        const BITS: u32;
        /// How the owner's pop claims.
        const POP: Ordering;

        /// Where the next push goes.
        fn tail(end: u32, claims: u64) -> u32;
        /// What the owner publishes as the end when the tail is this.
        fn end(tail: u32, claims: u64) -> u32;
        /// The oldest position that a thief may still be reading.
        fn released(positions: &Positions, claims: u64) -> u32;
        /// What the next pop does, if the ring is not empty.
        fn pop(tail: u32, claims: u64) -> Pop;
        /// Gives a claim back after its slots have been read.
        fn release(positions: &Positions, claim: &Claim);

        /// The position `count` further on.
        #[inline(always)]
        fn plus(position: u32, count: u32) -> u32 {
            position.wrapping_add(count) & (u32::MAX >> (32 - Self::BITS))
        }

        /// How many positions lie between an earlier and a later one.
        #[inline(always)]
        fn between(earlier: u32, later: u32) -> u32 {
            later.wrapping_sub(earlier) & (u32::MAX >> (32 - Self::BITS))
        }

        /// The most slots with which a full ring and an empty one, and a crossed pair of positions, can be told
        /// apart.
        const MOST: u32 = 1 << (Self::BITS - 1);
    }
}
use sealed::Rules;

/// The owner pops the newest. `claims` is `(pops, head)`, the end is the number of pushes, and
/// `tail = pushes - pops`; `released` is a word of its own.
///
/// The thief's half of the words is that of the crate `st3`.
#[derive(Debug)]
pub struct Lifo<const BITS: u32 = 32>(());

impl<const BITS: u32> Order for Lifo<BITS> {}

impl<const BITS: u32> Rules for Lifo<BITS> {
    const BITS: u32 = BITS;
    // Ordering: Release pairs with the Acquire of `claims` in `observe`: a thief that sees this pop sees every
    // push before it, and so never counts too few pushes for its pops.
    const POP: Ordering = Ordering::Release;

    #[inline(always)]
    fn tail(end: u32, claims: u64) -> u32 {
        Self::between(Words::of(claims).high, end)
    }

    #[inline(always)]
    fn end(tail: u32, claims: u64) -> u32 {
        Self::plus(tail, Words::of(claims).high)
    }

    #[inline(always)]
    fn released(positions: &Positions, _claims: u64) -> u32 {
        // Ordering: Acquire pairs with the Release in `release`. For the owner: the thief's reads are over
        // before it writes. For a thief: the former thief's reads go to the owner through its own release.
        positions.released.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn pop(tail: u32, claims: u64) -> Pop {
        let Words { high: pops, head } = Words::of(claims);
        let position = Self::between(1, tail);
        Pop { claims: Words { high: Self::plus(pops, 1), head }.join(), position, tail: position }
    }

    #[inline(always)]
    fn release(positions: &Positions, claim: &Claim) {
        // Ordering: Release pairs with the Acquire in `released`; the slots have been read.
        positions.released.store(Self::plus(claim.start, claim.count), Ordering::Release);
    }
}

/// The owner pops the oldest. `claims` is `(released, head)`, unequal while a thief reads what lies between
/// them; the end is the tail itself.
///
/// The word of claims is that of tokio's queue.
#[derive(Debug)]
pub struct Fifo<const BITS: u32 = 32>(());

impl<const BITS: u32> Order for Fifo<BITS> {}

impl<const BITS: u32> Rules for Fifo<BITS> {
    const BITS: u32 = BITS;
    // Ordering: Release pairs with the Acquire of `claims` in `observe`, as in a lifo ring. A pop that moves `released` on
    // is part of the release sequence of a former thief's release, and so hands its reads on to the owner's next look.
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
    fn released(_positions: &Positions, claims: u64) -> u32 {
        // Whoever loaded the claims did so with Acquire.
        Words::of(claims).high
    }

    #[inline(always)]
    fn pop(tail: u32, claims: u64) -> Pop {
        let Words { high: released, head } = Words::of(claims);
        let next = Self::plus(head, 1);
        // While a thief reads, what it claimed stays unreleased.
        let high = if released == head { next } else { released };
        Pop { claims: Words { high, head: next }.join(), position: head, tail }
    }

    #[inline(always)]
    fn release(positions: &Positions, _claim: &Claim) {
        // Ordering: Relaxed: the exchange decides.
        let mut claims = positions.claims.load(Ordering::Relaxed);
        loop {
            // The owner may have popped on meanwhile; all up to its head is released.
            let Words { head, .. } = Words::of(claims);
            // Ordering: Release pairs with the Acquire in `acquire_claims`; the slots have been read. Every change of
            // this word is a read-modify-write, so what follows continues its release sequence.
            match positions.claims.compare_exchange_weak(
                claims,
                Words { high: head, head }.join(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => claims = now,
            }
        }
    }
}
