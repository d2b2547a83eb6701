//! How a worker alternates between waiting for events and handling them.

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

/// How long a worker must have slept before events for it to keep up with them.
const PAUSE: Duration = Duration::from_micros(20);

/// How long it may have been awake for the events before these: what it has to do for most takes no longer than it does to wake
/// another worker for it.
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
        let (slept, awake) = (Cell::new(None), Cell::new(Duration::MAX));
        Self { polls: Cell::new(false), slept, woke: Cell::new(Instant::now()), awake }
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

    /// Calls what sleeps on the driver, and returns its result and how long that took.
    pub(super) fn sleep<R>(&self, sleep: impl FnOnce() -> R) -> (R, Duration) {
        let begun = Instant::now();
        if !self.has_slept() {
            self.awake.set(begun - self.woke.get());
        }
        let result = sleep();
        let woke = Instant::now();
        self.woke.set(woke);
        let slept = woke - begun;
        self.slept.set(Some(slept));
        (result, slept)
    }

    /// Whether the worker has had to wait for the events that it handles now, and handled those before them in a short time.
    pub(super) fn keeps_up(&self) -> bool {
        self.slept.get().is_some_and(|slept| slept >= PAUSE) && self.awake.get() <= SHORT
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_worker_keeps_up_that_waits_for_events_and_handles_them_in_a_short_time() {
        let rests = Rests::new();
        let doze = || thread::sleep(PAUSE);
        assert!(!rests.keeps_up() && !rests.has_slept());
        rests.sleep(doze);
        assert!(rests.has_slept());
        // What it was awake for before that is not known, but long.
        rests.awake.set(SHORT);
        assert!(rests.keeps_up());
        rests.begin_search();
        assert!(!rests.keeps_up(), "what it finds now may not be from events");
        rests.woke.set(Instant::now() - 2 * SHORT);
        rests.sleep(doze);
        assert!(!rests.keeps_up(), "it was awake for long");
        let awake = rests.awake.get();
        rests.sleep(|| ());
        assert_eq!(rests.awake.get(), awake, "two sleeps with nothing between them are one");
        assert!(!rests.keeps_up(), "it has not waited");
    }
}
