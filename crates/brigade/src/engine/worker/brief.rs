//! Waits that are over sooner than a thread could sleep and be woken.
//!
//! A program that runs short steps on a pool, one after the other, would pay for wake-ups in each: that of its own thread, and
//! those of the workers, which have gone to sleep until then. So a thread whose last wait was brief watches the next one for a
//! while before it sleeps. One whose last wait was long sleeps at once: it loses nothing, and on a busy machine most waits are
//! long. This applies to threads outside, and to workers between two steps ([`gaps`](super::gaps)).

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

use crate::engine::yields;

/// How long a wait is watched: about as long as it takes to put a thread to sleep and wake it, so no more than twice the time of
/// the better choice is lost (Karlin et al., *Competitive randomized algorithms for nonuniform problems*, SODA 1990).
const WATCH: Duration = Duration::from_micros(50);

/// A wait that takes no longer is brief, with the wake-up if it was slept through: a wait that is about as long is not, or it would
/// be watched in vain each time.
const BRIEF: Duration = Duration::from_micros(50);

brigade_sync::unmodelled::thread_local! {
    /// Whether the last wait of this thread was brief, as one outside.
    static WAS_BRIEF: Cell<bool> = const { Cell::new(true) };
}

/// A wait.
pub(super) struct Waiting {
    begun: Instant,
    /// Whether it may be watched: the last one was brief.
    pub(super) is_watched: bool,
}

impl Waiting {
    pub(super) fn begin(was_brief: bool) -> Self {
        Self { begun: time::now(), is_watched: was_brief }
    }

    /// Begins a wait of a thread outside.
    pub(super) fn begin_outside() -> Self {
        // A thread that ends keeps nothing.
        Self::begin(WAS_BRIEF.try_with(Cell::get).unwrap_or(false))
    }

    /// Watches for the end of the wait if the last one was brief; `false` if it is not over.
    pub(super) fn watch(&self, is_over: impl Fn() -> bool) -> bool {
        if !self.is_watched {
            return is_over();
        }
        watch(is_over, || time::since(self.begun))
    }

    /// Whether it has been brief up to now.
    pub(super) fn is_brief(&self) -> bool {
        time::since(self.begun) <= BRIEF
    }

    /// Ends a wait of a thread outside.
    pub(super) fn end_outside(self) {
        let _ = WAS_BRIEF.try_with(|was_brief| was_brief.set(self.is_brief()));
    }
}

/// Watches for the end of a wait, by a clock that starts with it.
fn watch(is_over: impl Fn() -> bool, elapsed: impl Fn() -> Duration) -> bool {
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

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    /// How often a wait is looked at that is over at look number `end`, by a clock that advances by 1 µs with each look, and
    /// whether its end was seen.
    fn looks(
        end: u64,
        watch: impl Fn(&dyn Fn() -> bool, &dyn Fn() -> Duration) -> bool,
    ) -> (u64, bool) {
        let looks = Cell::new(0);
        let is_over = || {
            looks.set(looks.get() + 1);
            looks.get() == end
        };
        let seen = watch(&is_over, &|| Duration::from_micros(looks.get()));
        (looks.get(), seen)
    }

    #[test]
    fn a_wait_is_watched_for_some_time_if_the_last_one_was_brief() {
        let watched = |end| looks(end, |is_over, elapsed| watch(is_over, elapsed));
        assert_eq!([watched(1), watched(7), watched(1_000)], [(1, true), (7, true), (50, false)]);
        let not_watched = |end| looks(end, |is_over, _| Waiting::begin(false).watch(is_over));
        assert_eq!([not_watched(1), not_watched(7)], [(1, true), (1, false)]);
    }

    #[test]
    fn a_wait_is_brief_for_50_us() {
        assert!(Waiting::begin(true).is_brief());
        let long = Instant::now().checked_sub(BRIEF + Duration::from_nanos(1));
        assert!(!Waiting { begun: long.unwrap(), is_watched: true }.is_brief());
    }
}
