//! The atomics shared by owner and thieves, and the pair of positions in `claims`.

use brigade_sync::CachePadded;
use brigade_sync::atomic::{AtomicU32, AtomicU64};

/// The two positions in `claims`.
pub(super) struct Claims {
    /// The order's own: the number of pops (lifo), or the oldest position not released (fifo).
    pub(super) high: u32,
    /// The oldest unclaimed position.
    pub(super) head: u32,
}

impl Claims {
    /// Unpacks `claims`.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) const fn unpack(claims: u64) -> Self {
        Self { high: (claims >> 32) as u32, head: claims as u32 }
    }

    /// Packs both positions into `claims`.
    #[inline(always)]
    pub(super) const fn pack(self) -> u64 {
        ((self.high as u64) << 32) | self.head as u64
    }
}

/// A run of claimed positions.
#[derive(Debug)]
pub struct Claim {
    /// The oldest position of the run.
    pub(super) start: u32,
    /// The length of the run, at least 1.
    pub(super) count: u32,
}

/// The atomics shared by owner and thieves.
#[derive(Debug)]
pub struct State {
    /// Written by the owner: the end, as the order publishes it for a tail.
    pub(super) end: CachePadded<AtomicU32>,
    /// Changed by the owner and by thieves, by compare-exchange only.
    pub(super) claims: CachePadded<AtomicU64>,
    /// Of a lifo ring, the oldest position that a thief may still be reading. Written by the holder of the claim.
    pub(super) released: CachePadded<AtomicU32>,
}
