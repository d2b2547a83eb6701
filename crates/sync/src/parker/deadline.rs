//! When a sleep with a timeout ends.

use core::time::Duration;
use std::time::Instant;

/// The end of a sleep, if it has one.
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    /// Counts from now on. An end too far to be written down is none.
    pub(super) fn after(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    /// How long there still is to sleep; `None` is for ever, zero is the end.
    ///
    /// The model checker has no clock; there every timeout is over at once.
    pub(super) fn left(&self) -> Option<Duration> {
        let deadline = self.0?;
        if cfg!(brigade_loom) {
            return Some(Duration::ZERO);
        }
        Some(deadline.saturating_duration_since(Instant::now()))
    }
}
