//! When a worker with jobs of its own looks elsewhere, and how much it takes from there.
//!
//! **How often.** After so many jobs as the pool is configured to, or after some 100 µs if that is sooner: half of tokio's target for
//! its global queue (`TARGET_GLOBAL_QUEUE_INTERVAL` in `runtime/scheduler/multi_thread/stats.rs`). How many jobs that is follows from
//! how long the last ones took. The clock is read at every fourth look while it changes nothing, so that tiny jobs do not pay for it.
//!
//! **How much.** One job at first; twice as many as last time if there was more, up to as many as there are jobs between two
//! looks, or a sixteenth of that if these are short. So jobs from outside that have waited for a few looks get half of the worker's
//! turns, of short ones one in 20. `docs/design/engine.md` has the bound that follows. A larger share of short jobs costs more than
//! it gives: what is taken overflows the worker's own queue, and goes back. `brigade-lab fairness` and `throughput` measure it.

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

/// How long a worker runs jobs of its own before it looks elsewhere.
const TARGET: Duration = Duration::from_micros(100);

/// The part of its turns that a worker of short jobs gives to jobs from outside: one in so many.
const SHORT: u32 = 16;

/// Looks without a look at the clock while that has changed nothing.
const UNTIMED: u32 = 3;

/// The pace of one worker.
pub(super) struct Pace {
    /// Jobs until the next look.
    left: Cell<u32>,
    /// Jobs between the last look and the next.
    interval: Cell<u32>,
    /// The most of those, as configured.
    most: u32,
    /// When the clock was read, and how many jobs have been run since; `None` if the worker has slept since.
    timed: Cell<Option<(Instant, u32)>>,
    /// Looks until the clock is read again.
    untimed: Cell<u32>,
    /// How many jobs are taken from outside at the next look.
    share: Cell<u32>,
    /// How often it has looked, and how many jobs it has run in looks.
    looks: Cell<u32>,
}

impl Pace {
    pub(super) fn new(most: u32) -> Self {
        Self {
            left: Cell::new(most),
            interval: Cell::new(most),
            most,
            timed: Cell::new(None),
            untimed: Cell::new(0),
            share: Cell::new(1),
            looks: Cell::new(0),
        }
    }

    /// Names what the worker does between two jobs that it takes; no two of the next 2^32 looks have the same.
    pub(super) fn turn(&self) -> u64 {
        (u64::from(self.looks.get()) << 32) | u64::from(self.left.get())
    }

    /// The worker has run a job in a look.
    pub(super) fn end_turn(&self) {
        self.looks.set(self.looks.get().wrapping_add(1));
    }

    /// Counts a job; whether the worker must look elsewhere before it.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        left == 0
    }

    /// The next job is preceded by a look.
    pub(super) fn make_due(&self) {
        self.left.set(1);
    }

    /// The worker looks: settles when it does so again.
    pub(super) fn look(&self) {
        self.end_turn();
        self.adapt();
        self.left.set(self.interval.get());
    }

    fn adapt(&self) {
        let ran = self.interval.get();
        let Some((since, jobs)) = self.timed.get() else {
            self.timed.set(Some((Instant::now(), 0)));
            return;
        };
        let jobs = jobs.saturating_add(ran);
        let untimed = self.untimed.get();
        if untimed > 0 {
            self.untimed.set(untimed - 1);
            self.timed.set(Some((since, jobs)));
            return;
        }
        let now = Instant::now();
        let interval = jobs_in_target(jobs, now - since).clamp(1, self.most);
        self.interval.set(interval);
        self.timed.set(Some((now, 0)));
        self.untimed.set(if self.runs_short_jobs() { UNTIMED } else { 0 });
    }

    /// The worker sleeps: its jobs do not take that long.
    pub(super) fn pause(&self) {
        self.timed.set(None);
    }

    /// Whether as many jobs as there may be between two looks take less than the target time.
    fn runs_short_jobs(&self) -> bool {
        self.interval.get() == self.most
    }

    /// How many jobs the worker takes from outside now.
    pub(super) fn share(&self) -> usize {
        self.share.get() as usize
    }

    /// The worker has taken so many of them.
    pub(super) fn has_taken(&self, jobs: usize) {
        let all = jobs >= self.share();
        let most = if self.runs_short_jobs() { self.most / SHORT } else { self.interval.get() };
        let next = self.share.get().saturating_mul(2).min(most.max(1));
        self.share.set(if all { next } else { 1 });
    }
}

/// How many jobs are run in the target time if so many took `time`.
fn jobs_in_target(jobs: u32, time: Duration) -> u32 {
    let jobs = u128::from(jobs) * TARGET.as_nanos() / time.as_nanos().max(1);
    u32::try_from(jobs).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_comes_after_the_configured_number_of_short_jobs_or_the_target_time() {
        let micros = |micros| Duration::from_micros(micros);
        assert_eq!(jobs_in_target(61, micros(1220)), 5);
        assert_eq!(jobs_in_target(1, micros(100)), 1);
        assert_eq!(jobs_in_target(1, micros(10_000)), 0);
        assert_eq!(jobs_in_target(u32::MAX, Duration::ZERO), u32::MAX);
    }

    fn shares(pace: &Pace) -> Vec<usize> {
        let next = || {
            let share = pace.share();
            pace.has_taken(share);
            share
        };
        std::iter::repeat_with(next).take(8).collect()
    }

    #[test]
    fn the_share_doubles_while_there_is_more_and_begins_anew_when_there_is_not() {
        let pace = Pace::new(61);
        assert_eq!(shares(&pace), [1, 2, 3, 3, 3, 3, 3, 3], "of short jobs");
        pace.interval.set(30);
        assert_eq!(shares(&pace), [3, 6, 12, 24, 30, 30, 30, 30], "of long ones");
        pace.has_taken(29);
        assert_eq!(pace.share(), 1);
        assert_eq!(shares(&Pace::new(1)), [1; 8]);
    }

    #[test]
    fn a_worker_of_long_jobs_looks_before_each() {
        let pace = Pace::new(61);
        let mut looks = Vec::new();
        for job in 0..130 {
            if pace.is_due() {
                pace.look();
                looks.push(job);
            }
            if job >= 61 {
                brigade_sync::thread::yield_now();
                std::thread::sleep(Duration::from_micros(300));
            }
        }
        assert_eq!(looks[..2], [60, 121], "known after the first of them");
        assert!(looks[2..].iter().copied().eq(122..130), "{looks:?}");
    }
}
