//! The differences between the two orders: how the atomics of [`State`] are read, and how a pop changes them.

use brigade_sync::atomic::Ordering;

use super::state::{Claim, Claims, State};

/// The end popped by the owner: [`Lifo`](crate::lifo::Lifo), [`Fifo`](crate::fifo::Fifo), or [`Either`] of them.
pub trait Order: sealed::Rules + 'static {}

/// The changes made by a pop of the owner.
pub struct Pop {
    /// The claims after it.
    pub(super) claims: u64,
    /// The position to take.
    pub(super) position: u32,
}

pub(super) mod sealed {
    use super::{Claim, Claims, Ordering, Pop, State};

    /// The rules of both orders. All positions are numbers modulo 2^[`BITS`](Self::BITS).
    ///
    /// **Lifo**: `claims` is `(pops, head)`, the end is the number of pushes, and `tail = pushes - pops`; `released` is a separate
    /// atomic. The thief's half of the atomics is taken from the crate `st3`.
    ///
    /// **Fifo**: `claims` is `(released, head)`, which differ while a thief reads the positions between them; the end is the tail
    /// itself. `claims` is laid out as in tokio's queue.
    pub trait Rules: Copy + Default + Send + Sync {
        /// Width of a position: 32, except for tests in which it wraps.
        const BITS: u32;
        /// The largest capacity: with more slots a full ring and an empty one, or a crossed pair of positions, would look
        /// the same.
        const MAX_CAPACITY: u32 = 1 << (Self::BITS - 1);

        /// Returns whether the owner pops the newest item.
        fn is_lifo(self) -> bool;

        /// Returns how far the tail is behind the end.
        #[inline(always)]
        fn behind(self, claims: u64) -> u32 {
            if self.is_lifo() { Claims::unpack(claims).high } else { 0 }
        }

        /// Returns the oldest position that a thief may still be reading, by claims loaded with Acquire.
        #[inline(always)]
        fn released(self, state: &State, claims: u64) -> u32 {
            if self.is_lifo() {
                // Ordering: Acquire pairs with the Release in `release`. For the owner: the thief's reads are over before it
                // writes. For a thief: the former thief's reads are passed on to the owner through the present thief's release.
                state.released.load(Ordering::Acquire)
            } else {
                Claims::unpack(claims).high
            }
        }

        /// Returns the changes of the next pop of a non-empty ring.
        #[inline(always)]
        fn pop(self, tail: u32, claims: u64) -> Pop {
            let Claims { high, head } = Claims::unpack(claims);
            if self.is_lifo() {
                let claims = Claims { high: Self::plus(high, 1), head }.pack();
                return Pop { claims, position: Self::between(1, tail) };
            }
            let next = Self::plus(head, 1);
            // While a thief reads, the claimed positions stay unreleased.
            let high = if high == head { next } else { high };
            Pop { claims: Claims { high, head: next }.pack(), position: head }
        }

        /// Releases a claim after its slots have been read.
        #[inline(always)]
        fn release(self, state: &State, claim: &Claim) {
            if self.is_lifo() {
                // Ordering: Release pairs with the Acquire in `released`; the slots have been read.
                state.released.store(Self::plus(claim.start, claim.count), Ordering::Release);
                return;
            }
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
    }
}
use sealed::Rules;

/// The owner pops the newest item.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lifo<const BITS: u32 = 32>(());

impl<const BITS: u32> Order for Lifo<BITS> {}

impl<const BITS: u32> Rules for Lifo<BITS> {
    const BITS: u32 = BITS;

    #[inline(always)]
    fn is_lifo(self) -> bool {
        true
    }
}

/// The owner pops the oldest item.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo<const BITS: u32 = 32>(());

impl<const BITS: u32> Order for Fifo<BITS> {}

impl<const BITS: u32> Rules for Fifo<BITS> {
    const BITS: u32 = BITS;

    #[inline(always)]
    fn is_lifo(self) -> bool {
        false
    }
}

/// Either order, as each ring is made: a program that uses both has the code of a ring once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Either {
    /// As [`Lifo`](crate::lifo::Lifo).
    Lifo,
    /// As [`Fifo`](crate::fifo::Fifo).
    #[default]
    Fifo,
}

impl Order for Either {}

impl Rules for Either {
    const BITS: u32 = 32;

    #[inline(always)]
    fn is_lifo(self) -> bool {
        matches!(self, Self::Lifo)
    }
}
