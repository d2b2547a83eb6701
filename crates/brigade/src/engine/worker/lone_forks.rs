//! Whether a fork that is alone on its deque is worth a wake-up.
//!
//! A worker that is woken for a fork begins it some 30 µs later. If the owner has taken it back by then, as it does with short
//! forks, the wake-up was in vain: a futex call of the owner, and a search of the other one. Without it, a fork that the owner
//! does not come back to for long waits for the monitor, three times as long. So the owner wakes a worker if some of its last
//! lone forks were stolen, whatever found them.

use core::cell::Cell;

/// This many lone forks in a row that were not stolen mean that the next will not be.
const IN_VAIN: u8 = 8;

/// What became of the last lone forks.
#[derive(Default)]
pub(super) struct LoneForks {
    /// The number of forks that had been stolen at the last one.
    stolen: Cell<u64>,
    /// How many of the last ones were not stolen, up to [`IN_VAIN`].
    in_vain: Cell<u8>,
}

impl LoneForks {
    /// Counts a lone fork; `stolen` changes whenever one has been stolen. Returns whether it is worth a wake-up.
    pub(super) fn are_stolen(&self, stolen: u64) -> bool {
        let before = self.stolen.replace(stolen);
        let in_vain = if stolen == before { (self.in_vain.get() + 1).min(IN_VAIN) } else { 0 };
        self.in_vain.set(in_vain);
        in_vain < IN_VAIN
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn lone_forks_are_announced_until_several_in_a_row_were_not_stolen() {
        let forks = LoneForks::default();
        assert!(forks.are_stolen(1));
        assert!((1..IN_VAIN).all(|_| forks.are_stolen(1)));
        assert!(!forks.are_stolen(1) && !forks.are_stolen(1));
        assert!(forks.are_stolen(2), "the monitor has found the last one");
        assert!((1..IN_VAIN).all(|_| forks.are_stolen(2)));
        assert!(!forks.are_stolen(2));
    }
}
