//! Whether events come often, so that it pays to have a worker stand by for them, and whether others rely on a monitor.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::Ordering;
use brigade_sync::time;
use brigade_sync::unmodelled::{AtomicBool, AtomicU64};

/// How long the driver holder may have slept before an event that comes soon after the last one. Timers have a granularity of
/// 1 ms, so between two that are due one after the other it sleeps for a little longer than that.
const OFTEN: Duration = Duration::from_millis(2);

/// Whether events have come often of late, and how they are handled. A hint: nothing depends on its being right.
pub(crate) struct Pulse {
    start: Instant,
    /// The end of the time for which it is felt, in nanoseconds since `start`.
    until: AtomicU64,
    /// Whether a worker has kept jobs to itself because there was a monitor, since the monitor has asked.
    kept: AtomicBool,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self { start: time::now(), until: AtomicU64::new(0), kept: AtomicBool::new(false) }
    }

    /// Notes that the driver holder woke at `now` for an event, after it slept for that long.
    pub(crate) fn beat(&self, slept: Duration, now: Instant) {
        if slept <= OFTEN {
            self.until.store(self.nanos(now + OFTEN), Ordering::Relaxed);
        }
    }

    /// Whether events come often now.
    pub(crate) fn is_felt(&self) -> bool {
        self.is_felt_at(time::now())
    }

    /// Notes that a worker keeps jobs to itself because there is a monitor.
    pub(crate) fn keep(&self) {
        if !self.kept.load(Ordering::Relaxed) {
            self.kept.store(true, Ordering::Relaxed);
        }
    }

    /// Whether one has since the last call.
    pub(crate) fn take_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed) && self.kept.swap(false, Ordering::Relaxed)
    }

    fn is_felt_at(&self, now: Instant) -> bool {
        self.nanos(now) < self.until.load(Ordering::Relaxed)
    }

    fn nanos(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_nanos() as u64
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_felt_for_a_while_after_events_that_came_soon_after_others() {
        let pulse = Pulse::new();
        let now = pulse.start + OFTEN;
        assert!(!pulse.is_felt_at(now));
        pulse.beat(OFTEN * 2, now);
        assert!(!pulse.is_felt_at(now));
        pulse.beat(OFTEN, now);
        assert!(pulse.is_felt_at(now) && pulse.is_felt_at(now + OFTEN / 2));
        assert!(!pulse.is_felt_at(now + OFTEN));
    }
}
