//! Whether a wait has to be ended, so that the system is asked to only if somebody waits.

use brigade_sync::atomic::{AtomicU8, Ordering};

/// Nobody waits, and nobody rang.
const QUIET: u8 = 0;
/// Somebody waits, or is about to.
const WAITING: u8 = 1;
/// Somebody rang. The next wait, or this one, is to end at once.
const RUNG: u8 = 2;

/// The word.
#[derive(Debug)]
pub(crate) struct Bell(AtomicU8);

impl Default for Bell {
    fn default() -> Self {
        Self(AtomicU8::new(QUIET))
    }
}

impl Bell {
    /// Before a wait. `false`: somebody rang, so there is nothing to wait for.
    #[must_use]
    pub(crate) fn listen(&self) -> bool {
        // Ordering: Relaxed, as nothing is read in consequence; `heard`, which follows, is the one that acquires.
        self.0.compare_exchange(QUIET, WAITING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// After a wait: what was done before any ring until now is seen.
    pub(crate) fn heard(&self) {
        // Ordering: Acquire pairs with the Release in `ring`: the caller looks for work next, and finds it.
        self.0.swap(QUIET, Ordering::Acquire);
    }

    /// Rings. `true`: somebody waits, whom the caller has to wake.
    #[must_use]
    pub(crate) fn ring(&self) -> bool {
        // Ordering: Release pairs with the Acquire in `heard`, also if another had rung before: a swap goes on with
        // its release sequence.
        self.0.swap(RUNG, Ordering::Release) == WAITING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_ring_to_a_waiter_wakes_and_a_ring_before_ends_the_wait() {
        let bell = Bell::default();
        assert!(!bell.ring(), "nobody waits");
        assert!(!bell.listen(), "somebody rang");
        bell.heard();
        assert!(bell.listen());
        assert!(bell.ring(), "to a waiter");
        assert!(!bell.ring(), "it is awake already");
        bell.heard();
        assert!(bell.listen());
    }
}
