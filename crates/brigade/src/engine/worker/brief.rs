//! Waits of threads outside that are over sooner than the thread could sleep and be woken.
//!
//! A program that runs short steps on a pool, one after the other, would pay for two wake-ups in each: that of its own thread, and
//! that of the worker, which has gone to sleep until then. So a thread whose last wait was brief watches the next one for a while
//! before it sleeps. One whose last wait was long sleeps at once: it loses nothing, and on a busy machine all waits are long.

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

use crate::engine::yields;

/// How long a wait is watched: about as long as it takes to put a thread to sleep and wake it, so no more than twice the time of
/// the better choice is lost (Karlin et al., *Competitive randomized algorithms for nonuniform problems*, SODA 1990).
const WATCH: Duration = Duration::from_micros(50);

/// A wait that takes no longer is brief, with the wake-up if it was slept through: a wait that is about as long is not, or it would
/// be watched in vain each time.
const BRIEF: Duration = Duration::from_micros(50);

std::thread_local! {
    /// Whether the last wait of this thread was brief.
    static WAS_BRIEF: Cell<bool> = const { Cell::new(true) };
}

/// A wait of a thread outside; dropped when it is over.
pub(super) struct Waiting {
    begun: Instant,
}

impl Waiting {
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now() }
    }

    /// Watches for the end of the wait if the last one was brief; `false` if it is not over.
    pub(super) fn watch(&self, is_over: impl Fn() -> bool) -> bool {
        watch(is_over, || self.begun.elapsed())
    }
}

/// Watches for the end of a wait, by a clock that starts with it.
fn watch(is_over: impl Fn() -> bool, elapsed: impl Fn() -> Duration) -> bool {
    if cfg!(brigade_loom) || !WAS_BRIEF.try_with(Cell::get).unwrap_or(false) {
        return is_over();
    }
    let mut round = 0;
    while !is_over() {
        if elapsed() >= WATCH {
            return false;
        }
        // It yields, as the wait may be for a thread that has no other processor.
        yields::snooze(round);
        round += 1;
    }
    true
}

impl Drop for Waiting {
    fn drop(&mut self) {
        note(self.begun.elapsed());
    }
}

/// Notes how long a wait of this thread was.
fn note(waited: Duration) {
    // A thread that ends keeps nothing.
    let _ = WAS_BRIEF.try_with(|was_brief| was_brief.set(waited <= BRIEF));
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    /// How often a wait is looked at that is over at look number `end`, by a clock that advances by 1 µs with each look, and
    /// whether its end was seen.
    fn looks(end: u64) -> (u64, bool) {
        let looks = Cell::new(0);
        let is_over = || {
            looks.set(looks.get() + 1);
            looks.get() == end
        };
        let seen = watch(is_over, || Duration::from_micros(looks.get()));
        (looks.get(), seen)
    }

    #[test]
    fn a_wait_is_watched_if_the_last_one_was_brief() {
        for brief in [Duration::ZERO, BRIEF] {
            note(brief);
            assert_eq!(looks(1), (1, true));
            assert_eq!(looks(7), (7, true));
            assert_eq!(looks(1_000), (50, false));
        }
        for long in [BRIEF + Duration::from_nanos(1), Duration::MAX] {
            note(long);
            assert_eq!(looks(1), (1, true));
            assert_eq!(looks(7), (1, false));
        }
    }
}
