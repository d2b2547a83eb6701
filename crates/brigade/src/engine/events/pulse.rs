//! Whether events come often, so that it pays to have a worker stand by for them.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicU64;

/// How long the driver holder may have slept before an event that comes soon after the last one.
const OFTEN: Duration = Duration::from_millis(1);

/// Whether events have come often of late. A hint: nothing depends on its being right.
pub(crate) struct Pulse {
    start: Instant,
    /// The end of the time for which it is felt, in nanoseconds since `start`.
    until: AtomicU64,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), until: AtomicU64::new(0) }
    }

    /// Notes that the driver holder has woken for an event, after it slept for that long.
    pub(crate) fn beat(&self, slept: Duration) {
        if slept <= OFTEN {
            self.until.store(self.now() + OFTEN.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Whether events come often now.
    pub(crate) fn is_felt(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until > 0 && self.now() < until
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_felt_for_a_while_after_events_that_came_soon_after_others() {
        let pulse = Pulse::new();
        assert!(!pulse.is_felt());
        pulse.beat(OFTEN * 2);
        assert!(!pulse.is_felt());
        pulse.until.store(u64::MAX, Ordering::Relaxed);
        assert!(pulse.is_felt());
        pulse.beat(OFTEN);
        let until = pulse.until.load(Ordering::Relaxed);
        assert!(until > 0 && until <= pulse.now() + OFTEN.as_nanos() as u64);
        std::thread::sleep(OFTEN);
        assert!(!pulse.is_felt());
    }
}
