//! When a worker with jobs of its own looks elsewhere, and how much it takes from there.
//!
//! **How often.** After the configured number of jobs, or after some 100 µs if that is sooner: half of tokio's target for its
//! global queue (`TARGET_GLOBAL_QUEUE_INTERVAL` in `runtime/scheduler/multi_thread/stats.rs`). The duration of the last jobs
//! determines how many jobs that is. While the clock changes nothing it is read only at every fourth look, so that tiny jobs do
//! not pay for it. With [`Fairness::Interval`] the time is the configured one, and a look that comes before it is none: it
//! only reads the clock, after 61 jobs at most, so that jobs that become long are noticed.
//!
//! **How much.** One job at first; twice as many as last time if there was more, up to as many as there are jobs between two
//! looks, or a sixteenth of that if these are short. So jobs from outside that have waited for a few looks get half of the
//! worker's turns, or one in 20 if jobs are short. `docs/design/engine.md` derives the bound. A larger share of short jobs
//! costs more than it gains: the jobs that are taken overflow the worker's own queue, and return to the injector. `brigade-lab
//! fairness` and `throughput` measure it.

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

use crate::config::{Fairness, INJECTOR_INTERVAL};

/// How long a worker runs jobs of its own queue before it looks elsewhere.
const TARGET: Duration = Duration::from_micros(100);

/// A worker with short jobs gives one in this many turns to jobs from outside.
const SHORT: u32 = 16;

/// Looks between two reads of the clock while these change nothing.
const UNTIMED: u32 = 3;

/// The pace of one worker.
pub(super) struct Pace {
    /// Jobs until the next look.
    left: Cell<u32>,
    /// Jobs between the last look and the next.
    interval: Cell<u32>,
    /// The maximum of `interval`.
    most: u32,
    /// How long the worker runs jobs of its own queue before it looks elsewhere.
    target: Duration,
    /// Whether it looks only when that time has passed.
    is_timed: bool,
    /// When the clock was last read, and how many jobs have been run since; `None` if the worker has slept since.
    timed: Cell<Option<(Instant, u32)>>,
    /// Looks until the clock is read again.
    untimed: Cell<u32>,
    /// How many jobs are taken from outside at the next look.
    share: Cell<u32>,
    /// When a look last told that the target time had passed.
    told: Cell<Instant>,
    /// How often it has looked, and how many jobs it has run in looks.
    looks: Cell<u32>,
}

/// What a look is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// None: it is not time yet.
    Early,
    /// One of several in [`TARGET`].
    Often,
    /// The first one after that time.
    InTime,
}

impl Pace {
    pub(super) fn new(fairness: Fairness) -> Self {
        let (most, target, is_timed) = match fairness {
            Fairness::Every(jobs) => (jobs, TARGET, false),
            Fairness::Interval(time) => (INJECTOR_INTERVAL, time, true),
        };
        Self {
            left: Cell::new(most),
            interval: Cell::new(most),
            most,
            target,
            is_timed,
            timed: Cell::new(None),
            untimed: Cell::new(0),
            share: Cell::new(1),
            told: Cell::new(Instant::now()),
            looks: Cell::new(0),
        }
    }

    /// The number of the current turn; no two of the next 2^32 looks have the same.
    pub(super) fn turn(&self) -> u64 {
        (u64::from(self.looks.get()) << 32) | u64::from(self.left.get())
    }

    /// How often it has looked, and how many jobs it has run in looks.
    pub(super) fn looks(&self) -> u32 {
        self.looks.get()
    }

    /// Ends the turn of a job that was run in a look.
    pub(super) fn end_turn(&self) {
        self.looks.set(self.looks.get().wrapping_add(1));
    }

    /// Counts a job; returns whether the worker must look elsewhere before it.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        left == 0
    }

    /// Whether the worker looks elsewhere before its next job.
    #[inline]
    pub(super) fn is_due_next(&self) -> bool {
        self.left.get() <= 1
    }

    /// Makes the worker look elsewhere before its next job.
    pub(super) fn make_due(&self) {
        self.left.set(1);
    }

    /// Notes a look, and determines when the next one is due.
    pub(super) fn look(&self) -> Look {
        self.end_turn();
        let now = self.adapt();
        self.left.set(self.interval.get());
        let target = if self.is_timed { self.target } else { TARGET };
        match now.filter(|&now| now - self.told.get() >= target) {
            Some(now) => {
                self.told.set(now);
                Look::InTime
            }
            None if self.is_timed => Look::Early,
            None => Look::Often,
        }
    }

    /// Determines the number of jobs between two looks; returns the time if it read the clock.
    fn adapt(&self) -> Option<Instant> {
        let ran = self.interval.get();
        let Some((since, jobs)) = self.timed.get() else {
            let now = Instant::now();
            self.timed.set(Some((now, 0)));
            return Some(now);
        };
        let jobs = jobs.saturating_add(ran);
        let untimed = self.untimed.get();
        if untimed > 0 {
            self.untimed.set(untimed - 1);
            self.timed.set(Some((since, jobs)));
            return None;
        }
        let now = Instant::now();
        let interval = jobs_in_time(self.target, jobs, now - since).clamp(1, self.most);
        self.interval.set(interval);
        self.timed.set(Some((now, 0)));
        let is_untimed = self.runs_short_jobs() && !self.is_timed;
        self.untimed.set(if is_untimed { UNTIMED } else { 0 });
        Some(now)
    }

    /// Notes that the worker sleeps, as that time must not count as its jobs'.
    pub(super) fn pause(&self) {
        self.timed.set(None);
    }

    /// Whether the maximum number of jobs between two looks takes less than the target time.
    fn runs_short_jobs(&self) -> bool {
        self.interval.get() == self.most
    }

    /// How many jobs the worker takes from outside now.
    pub(super) fn share(&self) -> usize {
        self.share.get() as usize
    }

    /// Notes how many of them the worker has taken.
    pub(super) fn has_taken(&self, jobs: usize) {
        let all = jobs >= self.share();
        let most = if self.runs_short_jobs() { self.most / SHORT } else { self.interval.get() };
        let next = self.share.get().saturating_mul(2).min(most.max(1));
        self.share.set(if all { next } else { 1 });
    }
}

/// How many jobs are run in `target` if `jobs` of them took `time`.
fn jobs_in_time(target: Duration, jobs: u32, time: Duration) -> u32 {
    let jobs = u128::from(jobs).saturating_mul(target.as_nanos()) / time.as_nanos().max(1);
    u32::try_from(jobs).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_comes_after_the_configured_number_of_short_jobs_or_the_target_time() {
        let micros = |micros| Duration::from_micros(micros);
        assert_eq!(jobs_in_time(TARGET, 61, micros(1220)), 5);
        assert_eq!(jobs_in_time(TARGET, 1, micros(100)), 1);
        assert_eq!(jobs_in_time(TARGET, 1, micros(10_000)), 0);
        assert_eq!(jobs_in_time(Duration::MAX, u32::MAX, Duration::ZERO), u32::MAX);
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
    fn with_an_interval_of_time_only_a_look_that_comes_after_it_is_one() {
        let pace = Pace::new(Fairness::Interval(Duration::from_secs(3600)));
        for _ in 0..10 {
            (0..60).for_each(|_| assert!(!pace.is_due()));
            assert!(pace.is_due());
            assert_eq!(pace.look(), Look::Early);
        }
        let pace = Pace::new(Fairness::Interval(Duration::ZERO));
        assert_eq!(pace.look(), Look::InTime);
        // It has read the clock twice: no job fits into no time.
        assert_eq!(pace.look(), Look::InTime);
        assert!(pace.is_due_next());
    }

    #[test]
    fn the_share_doubles_while_there_is_more_and_begins_anew_when_there_is_not() {
        let pace = Pace::new(Fairness::Every(61));
        assert_eq!(shares(&pace), [1, 2, 3, 3, 3, 3, 3, 3], "of short jobs");
        pace.interval.set(30);
        assert_eq!(shares(&pace), [3, 6, 12, 24, 30, 30, 30, 30], "of long ones");
        pace.has_taken(29);
        assert_eq!(pace.share(), 1);
        assert_eq!(shares(&Pace::new(Fairness::Every(1))), [1; 8]);
    }

    #[test]
    fn a_worker_of_long_jobs_looks_before_each() {
        let pace = Pace::new(Fairness::Every(61));
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
