//! When a worker with jobs of its own looks elsewhere, and how much it takes from there.
//!
//! **How often.** After the configured number of jobs, or after about 100 µs if this is sooner: half of tokio's target
//! for its global queue (`TARGET_GLOBAL_QUEUE_INTERVAL` in `runtime/scheduler/multi_thread/stats.rs`). The duration of
//! the last jobs gives the number of jobs in 100 µs. The clock is read after a few jobs at first, then after twice as
//! many as last time, because the next jobs may take longer: a tiny job between long jobs says little about them. While
//! the clock changes nothing, it is read only at every fourth look, so that tiny jobs do not pay for it. With
//! [`Fairness::Interval`] the time is configured, and a worker that is due earlier only reads the clock. It does so
//! after 61 jobs at most, so that jobs that become long are noticed.
//!
//! **How much.** A single job at first; twice as many as last time if there was more, up to the number of jobs between
//! two looks, or a sixteenth of it if jobs are short. So jobs from outside that have waited for a few looks get half of
//! the worker's turns, or 1 in 20 if jobs are short. `docs/design/engine.md` derives the bound. A larger share of short
//! jobs costs more than it gains: the taken jobs overflow the worker's own queue, and return to the injector.
//! `brigade-lab fairness` and `throughput` measure it.

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;

use crate::values::{Fairness, INJECTOR_INTERVAL};

/// How long a worker runs jobs of the own queue before it looks elsewhere.
const TARGET: Duration = Duration::from_micros(100);

/// A worker with short jobs gives 1 in `SHORT` turns to jobs from outside.
const SHORT: u32 = 16;

/// Jobs until the clock is first read after a sleep.
const FEW: u32 = 8;

/// Looks between two reads of the clock while the reads change nothing.
const UNTIMED: u32 = 3;

/// The pace of a worker.
pub(super) struct Pace {
    /// Jobs until the worker is due, or [interrupted](Self::interrupt).
    left: Cell<u32>,
    /// Jobs from the interruption until the worker is due.
    rest: Cell<u32>,
    /// Jobs between the last and the next time at which the worker is due.
    ahead: Cell<u32>,
    /// Jobs from the last look until the worker was last due.
    done: Cell<u32>,
    /// Jobs between two looks.
    interval: Cell<u32>,
    /// The maximum of `interval`.
    most: u32,
    /// The target time: how long the worker runs jobs of the own queue before it looks elsewhere.
    target: Duration,
    /// Whether the worker looks only when `target` has passed.
    is_timed: bool,
    /// When the clock was last read, and the number of jobs since; `None` if the worker has slept since.
    timed: Cell<Option<(Instant, u32)>>,
    /// Looks until the clock is read again.
    untimed: Cell<u32>,
    /// How many jobs the next look takes from outside.
    share: Cell<u32>,
    /// When a look last found the target time over.
    told: Cell<Instant>,
    /// The number of looks, and of jobs run in looks.
    looks: Cell<u32>,
}

/// The kind of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// No look: it is not time yet. At most the clock was read.
    Early,
    /// One of several looks in [`TARGET`].
    Often,
    /// The first look after the target time.
    InTime,
}

impl Pace {
    pub(super) fn new(fairness: Fairness) -> Self {
        let (most, target, is_timed) = match fairness {
            Fairness::Every(jobs) => (jobs, TARGET, false),
            Fairness::Interval(time) => (INJECTOR_INTERVAL, time, true),
        };
        Self {
            left: Cell::new(most.min(FEW)),
            rest: Cell::new(0),
            ahead: Cell::new(most.min(FEW)),
            done: Cell::new(0),
            interval: Cell::new(most),
            most,
            target,
            is_timed,
            timed: Cell::new(None),
            untimed: Cell::new(0),
            share: Cell::new(1),
            told: Cell::new(time::now()),
            looks: Cell::new(0),
        }
    }

    /// The number of the current turn, unique among the next 2^32 looks.
    pub(super) fn turn(&self) -> u64 {
        (u64::from(self.looks.get()) << 32) | u64::from(self.left.get() + self.rest.get())
    }

    /// The number of looks, and of jobs run in looks.
    pub(super) fn looks(&self) -> u32 {
        self.looks.get()
    }

    /// Ends the turn of a job run in a look.
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

    /// Counts a job without a look before it; if the worker is due, it looks before the next job.
    pub(super) fn count(&self) {
        match self.left.get() {
            // More such jobs may come than were left until the worker is due.
            0 | 1 => self.done.set(self.done.get().saturating_add(1)),
            left => self.left.set(left - 1),
        }
    }

    /// Whether the worker looks elsewhere before the next job.
    #[inline]
    pub(super) fn is_due_next(&self) -> bool {
        self.left.get() <= 1
    }

    /// Makes the worker look before the next job, without a change of the pace.
    pub(super) fn interrupt(&self) {
        self.rest.set(self.rest.get() + self.left.get() - 1);
        self.left.set(1);
    }

    /// Notes that the worker was due, and determines when it is due next.
    pub(super) fn look(&self) -> Look {
        self.left.set(self.rest.take());
        if self.left.get() > 0 { Look::Early } else { self.look_by(time::now) }
    }

    fn look_by(&self, now: impl FnOnce() -> Instant) -> Look {
        self.end_turn();
        let done = self.done.get().saturating_add(self.ahead.get());
        let (now, fit) = self.adapt(now);
        let target = if self.is_timed { self.target } else { TARGET };
        let in_time = now.filter(|&now| now - self.told.get() >= target);
        // Half of the time is near enough.
        let enough = if fit < self.most { fit.div_ceil(2) } else { self.most };
        let is_early = if self.is_timed { in_time.is_none() } else { done < enough };
        // If looks depend on the number of jobs, the next look comes after `most` jobs at most.
        let done = if is_early && !self.is_timed { done } else { 0 };
        self.done.set(done);
        let ahead = self.ahead.get().min(self.most - done);
        self.ahead.set(ahead);
        self.left.set(ahead);
        match in_time {
            _ if is_early => Look::Early,
            Some(now) => {
                self.told.set(now);
                Look::InTime
            }
            None => Look::Often,
        }
    }

    /// Determines the number of jobs between two looks. Returns the time if it read the clock, and how many jobs fit
    /// into the target time, as far as known.
    fn adapt(&self, now: impl FnOnce() -> Instant) -> (Option<Instant>, u32) {
        let ran = self.ahead.get();
        let Some((since, jobs)) = self.timed.get() else {
            let now = now();
            self.timed.set(Some((now, 0)));
            self.untimed.set(0);
            self.ahead.set(self.interval.get().min(FEW));
            return (Some(now), self.most);
        };
        let jobs = jobs.saturating_add(ran);
        let untimed = self.untimed.get();
        if untimed > 0 {
            self.untimed.set(untimed - 1);
            self.timed.set(Some((since, jobs)));
            return (None, self.most);
        }
        let now = now();
        let fit = jobs_in_time(self.target, jobs, now - since).clamp(1, self.most);
        let interval = fit.min(jobs.saturating_mul(2));
        self.interval.set(interval);
        self.ahead.set(interval);
        self.timed.set(Some((now, 0)));
        let is_untimed = self.runs_short_jobs() && !self.is_timed;
        self.untimed.set(if is_untimed { UNTIMED } else { 0 });
        (Some(now), fit)
    }

    /// Notes that the worker sleeps: a sleep must not count as the time of jobs.
    pub(super) fn pause(&self) {
        self.timed.set(None);
        let left = self.left.get() + self.rest.take();
        let few = left.min(FEW);
        self.left.set(few);
        self.ahead.set(self.ahead.get() - (left - few));
    }

    /// Whether the maximum number of jobs between two looks takes less than the target time.
    fn runs_short_jobs(&self) -> bool {
        self.interval.get() == self.most
    }

    /// How many jobs the worker takes from outside now.
    pub(super) fn share(&self) -> usize {
        self.share.get() as usize
    }

    /// Notes how many jobs the worker has taken from outside.
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
    use core::ops::Range;

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
    fn the_share_doubles_while_there_is_more_and_begins_anew_when_there_is_not() {
        let pace = Pace::new(Fairness::Every(61));
        assert_eq!(shares(&pace), [1, 2, 3, 3, 3, 3, 3, 3], "of short jobs");
        pace.interval.set(30);
        assert_eq!(shares(&pace), [3, 6, 12, 24, 30, 30, 30, 30], "of long ones");
        pace.has_taken(29);
        assert_eq!(pace.share(), 1);
        assert_eq!(shares(&Pace::new(Fairness::Every(1))), [1; 8]);
    }

    /// Runs jobs, each for some microseconds of a virtual clock; returns the jobs before which the worker was due.
    fn run(pace: &Pace, jobs: Range<u32>, micros: impl Fn(u32) -> u64) -> Vec<(u32, Look)> {
        let clock = Cell::new(pace.told.get());
        let run = |&job: &u32| clock.set(clock.get() + Duration::from_micros(micros(job)));
        let jobs = jobs.inspect(run).filter(|_| pace.is_due());
        jobs.map(|job| (job, pace.look_by(|| clock.get()))).collect()
    }

    /// Like [`run`]; returns the jobs before which the worker looked elsewhere.
    fn looks(pace: &Pace, jobs: Range<u32>, micros: impl Fn(u32) -> u64) -> Vec<u32> {
        let due = run(pace, jobs, micros).into_iter();
        due.filter(|&(_, look)| look != Look::Early).map(|(job, _)| job).collect()
    }

    #[test]
    fn with_an_interval_of_time_only_a_look_that_comes_after_it_is_one() {
        let pace = Pace::new(Fairness::Interval(Duration::from_millis(1)));
        let due = run(&pace, 1..200, |_| 0);
        let early = [8, 16, 32, 64, 125, 186].map(|job| (job, Look::Early));
        assert_eq!(due, early, "twice as far each time, and 61 at most");
        let pace = Pace::new(Fairness::Interval(Duration::from_millis(1)));
        assert_eq!(looks(&pace, 1..100, |_| 50), [32, 52, 72, 92]);
    }

    #[test]
    fn a_worker_of_long_jobs_looks_before_each_as_soon_as_it_knows() {
        let pace = Pace::new(Fairness::Every(61));
        assert!(looks(&pace, 1..100, |_| 200).into_iter().eq(16..100), "from the second time");
        let pace = Pace::new(Fairness::Every(61));
        let found = looks(&pace, 1..800, |job| if job < 500 { 0 } else { 200 });
        assert!(
            found.ends_with(&(745..800).collect::<Vec<_>>()),
            "in the fourth time at the latest"
        );
    }

    #[test]
    fn jobs_that_are_run_in_a_look_count_although_it_is_due_before_their_last() {
        let pace = Pace::new(Fairness::Every(61));
        (0..30).for_each(|_| pace.count());
        assert_eq!(looks(&pace, 31..200, |_| 0)[..2], [61, 122]);
    }

    #[test]
    fn a_tiny_job_between_long_ones_delays_the_next_look_by_one() {
        let pace = Pace::new(Fairness::Every(61));
        let found = looks(&pace, 1..40, |job| if job == 30 { 0 } else { 200 });
        assert!(found.into_iter().eq((16..30).chain(32..40)));
    }

    #[test]
    fn an_interruption_comes_before_the_next_job_and_delays_no_look() {
        let pace = Pace::new(Fairness::Every(8));
        (0..3).for_each(|_| assert!(!pace.is_due()));
        let turn = pace.turn();
        pace.interrupt();
        pace.interrupt();
        assert_eq!(pace.turn(), turn);
        assert!(pace.is_due());
        assert_eq!(pace.look(), Look::Early);
        assert_eq!((0..).take_while(|_| !pace.is_due()).count(), 3, "the eighth");
        assert_ne!(pace.look(), Look::Early);
        pace.interrupt();
        pace.pause();
        assert_eq!((0..).take_while(|_| !pace.is_due()).count(), 7, "forgotten in its sleep");
    }

    #[test]
    fn a_worker_that_slept_reads_the_clock_soon_and_looks_no_sooner() {
        let pace = Pace::new(Fairness::Every(61));
        let found = looks(&pace, 1..1001, |_| 0);
        pace.pause();
        let next = found[found.len() - 1] + 61;
        let due = run(&pace, 1001..next + 1, |_| 0);
        assert_eq!(due[..2], [(1008, Look::Early), (1016, Look::Early)]);
        assert_eq!(due[due.len() - 1], (next, Look::Often), "61 jobs after the one before");
        assert!(due[..due.len() - 1].iter().all(|&(_, look)| look == Look::Early));
    }
}
