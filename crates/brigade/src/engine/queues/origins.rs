//! The parts that a worker is running, for threads waiting for such a part. `engine/fork/FORKS.md` has the
//! argument.
//!
//! When a worker takes a part of a fork or a scope, from its own deque or from another worker's, it lists an
//! *origin*: the region of the part, and the position of its own deque at that time. Until the part has
//! ended, the *forks* on the deque from that position on descend from the region. So a thread waiting for the
//! region may take these forks, besides parts of the region itself, and nothing else. It must look under its claim
//! of the fork: the frame of the fork lives until then.
//!
//! **Orderings.** All are Relaxed. A push is a Release store, so a thief with a claim on a fork sees the list
//! as of the push of the fork, or newer entries. The entries of that time stay until the fork is off the
//! deque. An ended origin has the position `NEVER`, and a later origin begins behind the fork: neither
//! contains it, in whichever mixture a thief sees them. A position is lowered only while no item that lay above it is on the deque.
//!
//! Only forks count. A job that the part adds to a different scope may outlive it, and the origin is removed
//! a moment after the part has ended: by then, a new fork may have begun at the address of the region. A fork
//! is off the deque before its job ends.

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::{AtomicU64, AtomicUsize};
use brigade_task::Region;

/// The depth of nested waits in which a worker runs parts; deeper waits sleep. Fault 40 of `docs/faults.txt`
/// needs a bound, and a balanced tree of a million forks is 20 deep. Few in a seeded run, so that its small programs reach them.
pub(in crate::engine) const DEPTH: usize = if cfg!(brigade_seeded) { 2 } else { 64 };

/// A position beyond every fork.
const NEVER: u64 = u64::MAX;

/// The origins of one worker, outermost first; only the worker changes them.
pub(in crate::engine) struct Origins {
    depth: AtomicUsize,
    /// The address of a region, and a position.
    list: [(AtomicUsize, AtomicU64); DEPTH],
}

impl Default for Origins {
    fn default() -> Self {
        let list = [const { (AtomicUsize::new(0), AtomicU64::new(NEVER)) }; DEPTH];
        Self { depth: AtomicUsize::new(0), list }
    }
}

impl Origins {
    /// Adds an origin; returns the previous number of origins, for [`end`](Self::end).
    pub(in crate::engine) fn begin(&self, region: Region, position: u64) -> usize {
        let depth = self.depth.load(Ordering::Relaxed);
        if let Some((address, from)) = self.list.get(depth) {
            from.store(position, Ordering::Relaxed);
            address.store(region.address(), Ordering::Relaxed);
            self.depth.store(depth + 1, Ordering::Relaxed);
        }
        depth
    }

    /// Returns the region of the outermost origin; called only by the worker.
    pub(in crate::engine) fn outermost(&self) -> Option<Region> {
        if self.depth() == 0 {
            return None;
        }
        Some(Region::at(self.list[0].0.load(Ordering::Relaxed)))
    }

    /// The number of origins, for [`end`](Self::end).
    pub(in crate::engine) fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    /// Removes all but the first `depth` origins.
    #[inline]
    pub(in crate::engine) fn end(&self, depth: usize) {
        for (_, from) in &self.list[depth..self.depth()] {
            from.store(NEVER, Ordering::Relaxed);
        }
        self.depth.store(depth, Ordering::Relaxed);
    }

    /// Lowers the positions above that of an item that has been removed from the deque with all later items.
    pub(in crate::engine) fn close_gap(&self, gone: u64) {
        for (_, from) in &self.list[..self.depth()] {
            let position = from.load(Ordering::Relaxed);
            from.store(position - u64::from(position > gone), Ordering::Relaxed);
        }
    }

    /// Whether an item of the worker's deque at this position descends from a region.
    pub(in crate::engine) fn descends(&self, region: Region, position: u64) -> bool {
        let depth = self.depth.load(Ordering::Relaxed);
        self.list[..depth].iter().any(|(address, from)| {
            address.load(Ordering::Relaxed) == region.address()
                && from.load(Ordering::Relaxed) <= position
        })
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    /// A thief may see a newer depth and a newer address beside older entries.
    #[test]
    fn an_ended_origin_has_no_forks_for_any_thief() {
        let (origins, region) = (Origins::default(), Region::at(8));
        let sees = |position| {
            let depth = origins.depth.swap(DEPTH, Ordering::Relaxed);
            let descends = origins.descends(region, position);
            origins.depth.store(depth, Ordering::Relaxed);
            descends
        };
        assert!(!sees(0), "no origin has begun");
        assert_eq!((origins.begin(region, 3), origins.begin(Region::at(16), 5)), (0, 1));
        assert_eq!([2, 3, 4, 5].map(sees), [false, true, true, true]);
        origins.end(1);
        assert!(sees(3));
        origins.end(0);
        assert!(!sees(3) && !sees(u64::MAX - 1));
    }

    #[test]
    fn removed_items_below_lower_an_origin() {
        let (origins, region) = (Origins::default(), Region::at(8));
        origins.begin(Region::at(16), 2);
        origins.begin(region, 5);
        [7, 5, 4, 2].into_iter().for_each(|gone| origins.close_gap(gone));
        assert_eq!(
            [2, 3, 4].map(|position| origins.descends(region, position)),
            [false, true, true]
        );
        assert_eq!(
            [1, 2].map(|position| origins.descends(Region::at(16), position)),
            [false, true]
        );
    }
}
