//! The end of a wait with a timeout.

use core::time::Duration;
use std::time::Instant;

use crate::time;

/// The end of a wait, if limited.
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    /// Returns the deadline `timeout` from now. A time beyond the range of `Instant` counts as no deadline.
    pub(super) fn after(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| time::now().checked_add(timeout)))
    }

    /// Returns the time left: `None` without a deadline, zero once it has passed.
    ///
    /// The model checker has no clock; there every deadline has passed.
    pub(super) fn remaining(&self) -> Option<Duration> {
        let deadline = self.0?;
        if cfg!(brigade_loom) {
            return Some(Duration::ZERO);
        }
        Some(time::until(deadline))
    }
}
