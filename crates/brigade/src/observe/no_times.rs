//! Replaces the histograms if their feature is off: there are none.

use core::time::Duration;

/// The times of no jobs.
#[derive(Default)]
pub(super) struct Recorded;

impl Recorded {
    #[inline(always)]
    pub(super) fn add_waiting(&mut self, _: Option<Duration>) {}

    #[inline(always)]
    pub(super) fn add_running(&mut self, _: Option<Duration>) {}
}
