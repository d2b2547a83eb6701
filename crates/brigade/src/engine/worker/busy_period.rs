//! Whether a worker's jobs are long, by its last busy period: the time between two sleeps.
//!
//! A searcher that finds a job and sees more wakes one worker, which does the same: each job begins a wake-up after the one before
//! it, 20 µs or more. Where jobs are long, a searcher wakes two, so that n jobs begin after log n wake-ups. Where they are short, one
//! worker runs all of them in less time than that takes.

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

/// Jobs of this duration are long: several times what it takes to wake a worker, and more than a worker
/// [watches](super::gaps) for work, which counts as busy.
const LONG: Duration = Duration::from_micros(200);

pub(super) struct BusyPeriod {
    /// When it began.
    begun: Cell<Instant>,
    /// How many jobs the worker had run then.
    ran: Cell<u64>,
    /// Whether the jobs of the last one were long.
    was_long: Cell<bool>,
}

impl BusyPeriod {
    pub(super) fn new() -> Self {
        Self { begun: Cell::new(time::now()), ran: Cell::new(0), was_long: Cell::new(false) }
    }

    /// Begins a period of a worker that has run this many jobs.
    pub(super) fn begin(&self, ran: u64, now: Instant) {
        self.begun.set(now);
        self.ran.set(ran);
    }

    /// Ends it after this many jobs.
    pub(super) fn end(&self, ran: u64) {
        self.end_at(ran, time::now());
    }

    fn end_at(&self, ran: u64, now: Instant) {
        let jobs = ran.saturating_sub(self.ran.replace(ran));
        let busy = now - self.begun.replace(now);
        // A period without jobs says nothing about them.
        if jobs > 0 {
            let jobs = u32::try_from(jobs).unwrap_or(u32::MAX);
            self.was_long.set(busy / jobs >= LONG);
        }
    }

    /// Whether the jobs of the last one were long.
    pub(super) fn was_long(&self) -> bool {
        self.was_long.get()
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_long_by_their_mean_in_the_last_period_that_had_some() {
        let period = BusyPeriod::new();
        assert!(!period.was_long());
        let mut now = period.begun.get();
        let mut ran = 0;
        let mut end = |jobs, busy| {
            (ran, now) = (ran + jobs, now + busy);
            period.end_at(ran, now);
            period.was_long()
        };
        assert!(end(1, LONG));
        assert!(end(0, LONG / 2), "a period without jobs");
        assert!(!end(3, LONG * 2));
        assert!(end(3, LONG * 3));
    }
}
