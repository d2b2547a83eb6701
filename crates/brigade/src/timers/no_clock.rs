//! Replaces the clock if the feature `test-util` is off: it is the system's.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

pub(crate) struct Clock;

impl Clock {
    pub(crate) const MAY_BE_PAUSED: bool = false;

    pub(super) fn new(_: bool, _: Instant) -> Self {
        Self
    }

    pub(super) fn is_paused(&self) -> bool {
        false
    }

    pub(crate) fn now(&self) -> Instant {
        time::now()
    }

    pub(super) fn until(&self, at: Instant) -> Option<Duration> {
        Some(time::until(at))
    }

    pub(super) fn leap(&self, _: Instant) {}
}
