//! Positions of a ring, and the claims of thieves on them; `README.md` of the crate has the whole protocol.
//!
//! A position is a number that wraps; a slot's index is its position modulo the capacity. From the oldest to the
//! newest:
//!
//! ```text
//! released ..= head ..= tail ..= released + capacity
//!  a thief reads  queued   free to push
//! ```
//!
//! **Claim rule.** Between a claim and its release the positions claimed belong to the claimer alone: no push
//! writes them and nobody else reads them. The owner's pop needs no release, because only the owner pushes. One
//! thief at a time holds a claim; a second one is told `Busy`.
//!
//! The word that owner and thieves contend for holds two positions in 64 bits, so that one compare-exchange
//! moves a claim and fails if anybody else moved first.

use core::fmt;

use brigade_sync::CachePadded;
use brigade_sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::order::sealed::Rules;

/// Why nothing was stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealError {
    /// There was nothing to take, or no room to take it to.
    Empty,
    /// Another thief holds a claim, or the owner was faster four times in a row: try again, or elsewhere.
    Busy,
}

impl fmt::Display for StealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "nothing to steal, or no room for it; try another queue",
            Self::Busy => "another thief is stealing from this queue; try again, or another queue",
        })
    }
}

impl core::error::Error for StealError {}

/// The two positions in the word of claims.
pub(super) struct Words {
    /// What the order keeps beside the head.
    pub(super) high: u32,
    /// The oldest position that nobody has claimed.
    pub(super) head: u32,
}

impl Words {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) const fn of(claims: u64) -> Self {
        Self { high: (claims >> 32) as u32, head: claims as u32 }
    }

    #[inline(always)]
    pub(super) const fn join(self) -> u64 {
        ((self.high as u64) << 32) | self.head as u64
    }
}

/// A run of positions that belongs to whoever claimed it.
#[derive(Debug)]
pub struct Claim {
    /// The oldest position of the run.
    pub(super) start: u32,
    /// How many there are, at least one.
    pub(super) count: u32,
}

/// What a thief saw before it claims.
pub(super) struct Seen {
    claims: u64,
    /// How many items it may claim, at least one and at most the capacity.
    pub(super) count: u32,
}

/// The words that owner and thieves share.
#[derive(Debug)]
pub struct Positions {
    /// The owner's: [`Rules::end`] of the tail.
    end: CachePadded<AtomicU32>,
    /// Moved by everybody, by compare-exchange only.
    pub(super) claims: CachePadded<AtomicU64>,
    /// Of a lifo ring, the oldest position that a thief may still be reading. Written by the thief that holds the
    /// claim.
    pub(super) released: CachePadded<AtomicU32>,
}

impl Positions {
    /// Of an empty ring whose first push goes to `start`, after as many pops.
    pub(super) fn new<R: Rules>(start: u32) -> Self {
        let claims = Words { high: start, head: start }.join();
        Self {
            end: CachePadded::new(AtomicU32::new(R::end(start, claims))),
            claims: CachePadded::new(AtomicU64::new(claims)),
            released: CachePadded::new(AtomicU32::new(start)),
        }
    }

    /// The owner: makes what is written up to `tail` visible to thieves.
    #[inline(always)]
    pub(super) fn publish<R: Rules>(&self, tail: u32, claims: u64) {
        // Ordering: Release pairs with the Acquire of `end` in `observe`; it publishes the slots.
        self.end.store(R::end(tail, claims), Ordering::Release);
    }

    /// The owner: the claims, to see in them, or after them, what has been released.
    #[inline(always)]
    pub(super) fn acquire_claims(&self) -> u64 {
        // Ordering: Acquire pairs with the Release in `Fifo::release`: the thief's reads are over before the
        // owner writes. For lifo, `released` has its own.
        self.claims.load(Ordering::Acquire)
    }

    /// The owner: replaces claims by what a pop makes of them.
    ///
    /// # Errors
    /// The claims as they are, if they are not those expected.
    #[inline(always)]
    pub(super) fn claim_pop<R: Rules>(&self, expected: u64, next: u64) -> Result<u64, u64> {
        // Ordering: said at `POP` of each order. Relaxed on failure: the retry decides.
        self.claims.compare_exchange(expected, next, R::POP, Ordering::Relaxed)
    }

    /// The owner: the claims as they are.
    #[inline(always)]
    pub(super) fn claims(&self) -> u64 {
        // Ordering: Relaxed: the owner derives nothing from it but what its next exchange expects and a count.
        self.claims.load(Ordering::Relaxed)
    }

    /// A thief: what there is to claim.
    #[inline(always)]
    pub(super) fn observe<R: Rules>(&self, capacity: u32) -> Result<Seen, super::StealError> {
        // Ordering: Acquire pairs with the Release of the owner's pop and of `claim`: the end below is no older
        // than these claims, so the tail is not behind the head.
        let claims = self.claims.load(Ordering::Acquire);
        let head = Words::of(claims).head;
        if R::released(self, claims) != head {
            return Err(StealError::Busy);
        }
        // The words were read one after the other. A push meanwhile only adds; a pop meanwhile makes the count
        // anything, but it has moved the claims, so that `claim` fails. The count is cut all the same.
        let count = self.count::<R>(claims).min(capacity);
        if count == 0 { Err(StealError::Empty) } else { Ok(Seen { claims, count }) }
    }

    /// A thief: claims the oldest `count` of what it saw, which are at most as many; `None` if anybody has moved
    /// the claims since.
    #[inline(always)]
    pub(super) fn claim<R: Rules>(&self, seen: &Seen, count: u32) -> Option<Claim> {
        let Words { high, head } = Words::of(seen.claims);
        let next = Words { high, head: R::plus(head, count) }.join();
        // Ordering: Release pairs with the Acquires in `observe` and `len`: who sees this claim sees the pushes of what
        // it claims. Acquire keeps the reads of the slots behind it, which `end` has made safe already.
        self.claims
            .compare_exchange(seen.claims, next, Ordering::AcqRel, Ordering::Relaxed)
            .ok()
            .map(|_| Claim { start: head, count })
    }

    /// How many items there are beyond these claims, as far as the end is known here.
    #[inline(always)]
    fn count<R: Rules>(&self, claims: u64) -> u32 {
        // Ordering: Acquire pairs with the Release in `publish`: the slots are written.
        let tail = R::tail(self.end.load(Ordering::Acquire), claims);
        let count = R::between(Words::of(claims).head, tail);
        if count > R::MOST { 0 } else { count }
    }

    /// How many items are queued, as seen from any thread: a recent number.
    pub(super) fn len<R: Rules>(&self) -> u32 {
        // Ordering: Acquire as in `observe`.
        self.count::<R>(self.claims.load(Ordering::Acquire))
    }

    /// A number that changes with each push and each claim: equal numbers, nothing moved.
    pub(super) fn mark(&self) -> u64 {
        // Ordering: Relaxed: a statistic.
        let end = self.end.load(Ordering::Relaxed);
        self.claims.load(Ordering::Relaxed).wrapping_mul(31).wrapping_add(end.into())
    }
}
