//! How a worker alternates between waiting for events and handling them.

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

/// How long a worker must have slept before events for it to keep up with them.
const PAUSE: Duration = Duration::from_micros(20);

/// How long it may have been awake for the events before these. To wake another worker takes 30 to 60 µs of this on a virtual
/// machine.
const SHORT: Duration = Duration::from_micros(250);

/// The polls of one worker, and its sleeps on the driver.
pub(super) struct Rests {
    /// Whether it polls now.
    polls: Cell<bool>,
    /// How long the last one was, if it was since the last search began.
    slept: Cell<Option<Duration>>,
    /// When it ended.
    woke: Cell<Instant>,
    /// How long the worker was awake before.
    awake: Cell<Duration>,
}

impl Rests {
    pub(super) fn new() -> Self {
        Self {
            polls: Cell::new(false),
            slept: Cell::new(None),
            woke: Cell::new(time::now()),
            awake: Cell::new(Duration::ZERO),
        }
    }

    /// Notes that a search begins.
    pub(super) fn begin_search(&self) {
        self.slept.set(None);
    }

    /// Whether the worker has slept on the driver since the last search began.
    pub(super) fn has_slept(&self) -> bool {
        self.slept.get().is_some()
    }

    /// Calls what polls without sleeping.
    pub(super) fn poll(&self, poll: impl FnOnce()) {
        self.polls.set(true);
        poll();
        self.polls.set(false);
    }

    /// Whether the worker polls without sleeping now: what it queues is what events wake.
    pub(super) fn polls(&self) -> bool {
        self.polls.get()
    }

    /// Calls what sleeps on the driver, and returns its result, how long that took, and when it ended.
    pub(super) fn sleep<R>(&self, sleep: impl FnOnce() -> R) -> (R, Duration, Instant) {
        let begun = time::now();
        let result = sleep();
        let woke = time::now();
        (result, self.has_slept_from(begun, woke), woke)
    }

    /// Notes a sleep on the driver, and returns how long it was.
    fn has_slept_from(&self, begun: Instant, woke: Instant) -> Duration {
        // Of two sleeps with nothing between them the first counts.
        if !self.has_slept() {
            self.awake.set(begun - self.woke.get());
        }
        self.woke.set(woke);
        let slept = woke - begun;
        self.slept.set(Some(slept));
        slept
    }

    /// Whether the worker has had to wait for the events that it handles now, and handled those before them in a short time.
    pub(super) fn keeps_up(&self) -> bool {
        self.slept.get().is_some_and(|slept| slept >= PAUSE) && self.awake.get() <= SHORT
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_worker_keeps_up_that_waits_for_events_and_handles_them_in_a_short_time() {
        let rests = Rests::new();
        assert!(!rests.keeps_up() && !rests.has_slept());
        let begun = rests.woke.get() + SHORT;
        assert_eq!(rests.has_slept_from(begun, begun + PAUSE), PAUSE);
        assert!(rests.keeps_up() && rests.has_slept());
        let woke = begun + PAUSE;
        rests.has_slept_from(woke, woke + PAUSE / 2);
        assert!(!rests.keeps_up(), "it has not had to wait");
        let woke = woke + PAUSE / 2;
        rests.begin_search();
        assert!(
            !rests.keeps_up() && !rests.has_slept(),
            "what it finds now may not be from events"
        );
        let begun = woke + SHORT + PAUSE;
        rests.has_slept_from(begun, begun + PAUSE);
        assert!(!rests.keeps_up(), "it was awake for long");
        rests.has_slept_from(begun + PAUSE, begun + PAUSE * 2);
        assert!(!rests.keeps_up(), "two sleeps with nothing between them are one");
    }
}
