//! When a worker with jobs of its own looks elsewhere, and how much it takes from there.
//!
//! **How often.** After the configured number of jobs, or after about 100 µs if this is sooner: half of tokio's target
//! for its global queue (`TARGET_GLOBAL_QUEUE_INTERVAL` in `runtime/scheduler/multi_thread/stats.rs`). The duration of
//! the jobs since the clock was last read gives the number of jobs until the next read, but at most twice as many as
//! since the last look, because the next jobs may take longer: a tiny job between long jobs says little about them.
//! After a sleep the clock is read after eight jobs, and then after eight more: until then, long jobs keep a job from outside waiting.
//! With two and two `throughput --messages 200 --amplification 1000` has 0.92 of the rate (`ci/perf.sh`, 24 pairs).
//!
//! **How much.** A single job at first; twice as many as last time if there was more, up to the number of jobs between
//! two looks, or a sixteenth of it if jobs are short. So jobs from outside that have waited for a few looks get half of
//! the worker's turns, or 1 in 20 if jobs are short. `docs/design/engine.md` derives the bound. A larger share of short
//! jobs costs more than it gains: the taken jobs overflow the worker's own queue, and return to the injector.
//! `brigade-lab fairness` and `throughput` measure it.

use core::cell::Cell;
use std::time::{Duration, Instant};

use brigade_sync::time;

/// How long a worker runs jobs of the own queue before it looks elsewhere.
const TARGET: Duration = Duration::from_micros(100);

/// A worker gives 1 turn in so many to jobs that would wait for long otherwise: to those from outside, beside short jobs of the
/// own queue, and to those of lower classes, beside high jobs.
pub(super) const TURNS: u32 = 16;

/// Jobs until the clock is first read after a sleep.
const FEW: u32 = 8;

/// The pace of a worker.
pub(super) struct Pace {
    /// Jobs until the worker is due, or [interrupted](Self::interrupt).
    left: Cell<u32>,
    /// Jobs from the interruption until the worker is due.
    rest: Cell<u32>,
    /// Jobs between the last and the next time at which the worker is due.
    interval: Cell<u32>,
    /// Jobs from the last look until the worker was last due, or slept.
    done: Cell<u32>,
    /// The most jobs between two looks.
    most: u32,
    /// When the worker was last due; `None` if it has slept since.
    last: Cell<Option<Instant>>,
    /// When a look was last in time, or the first read of the clock after a sleep.
    told: Cell<Option<Instant>>,
    /// How many jobs the next look takes from outside.
    share: Cell<u32>,
    /// The number of looks, and of jobs run in looks.
    looks: Cell<u32>,
}

/// The kind of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// No look: it is not time yet, or the worker was only interrupted.
    Early,
    /// One of several looks in [`TARGET`].
    Often,
    /// The first look after about the target time.
    InTime,
}

impl Pace {
    /// The pace of a worker that looks elsewhere after `most` jobs at the latest; at least 1.
    pub(super) fn new(most: u32) -> Self {
        Self {
            left: Cell::new(most.min(FEW)),
            rest: Cell::new(0),
            interval: Cell::new(most.min(FEW)),
            done: Cell::new(0),
            most,
            last: Cell::new(None),
            told: Cell::new(None),
            share: Cell::new(1),
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
        match self.left.get() {
            0 if time::HAS_CLOCK => self.look_by(time::now),
            0 => {
                self.end_turn();
                self.is_due_after(self.most);
                Look::Often
            }
            _ => Look::Early,
        }
    }

    fn look_by(&self, now: impl FnOnce() -> Instant) -> Look {
        self.end_turn();
        let (now, ran) = (now(), self.interval.get());
        let done = self.done.get().saturating_add(ran);
        let next = match self.last.replace(Some(now)) {
            None => {
                self.told.set(Some(now));
                FEW
            }
            Some(last) => jobs_in_time(ran, now - last).min(done.saturating_mul(2)),
        };
        let look = match done {
            // Half of the time is near enough.
            _ if self.told.get().is_some_and(|told| now - told >= TARGET / 2) => {
                self.told.set(Some(now));
                Look::InTime
            }
            _ if done >= self.most => Look::Often,
            _ => Look::Early,
        };
        self.done.set(if look == Look::Early { done } else { 0 });
        self.is_due_after(next.clamp(1, self.most - self.done.get()));
        look
    }

    fn is_due_after(&self, jobs: u32) {
        self.interval.set(jobs);
        self.left.set(jobs);
    }

    /// Notes that the worker sleeps: a sleep must not count as the time of jobs.
    pub(super) fn pause(&self) {
        self.last.set(None);
        let left = self.left.get() + self.rest.take();
        self.done.set(self.done.get().saturating_add(self.interval.get() - left));
        self.is_due_after(left.min(FEW));
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
        let most = if self.runs_short_jobs() { self.most / TURNS } else { self.interval.get() };
        let next = self.share.get().saturating_mul(2).min(most.max(1));
        self.share.set(if all { next } else { 1 });
    }
}

/// How many jobs are run in the target time if `jobs` of them took `time`.
fn jobs_in_time(jobs: u32, time: Duration) -> u32 {
    let jobs = u128::from(jobs) * TARGET.as_nanos() / time.as_nanos().max(1);
    u32::try_from(jobs).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use core::ops::Range;

    use super::*;

    #[test]
    fn a_look_comes_after_the_set_number_or_time() {
        let micros = |micros| Duration::from_micros(micros);
        assert_eq!(jobs_in_time(61, micros(1220)), 5);
        assert_eq!(jobs_in_time(1, micros(100)), 1);
        assert_eq!(jobs_in_time(1, micros(10_000)), 0);
        assert_eq!(jobs_in_time(u32::MAX, Duration::ZERO), u32::MAX);
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
    fn the_share_doubles_while_there_is_more() {
        let pace = Pace::new(61);
        pace.interval.set(61);
        assert_eq!(shares(&pace), [1, 2, 3, 3, 3, 3, 3, 3], "of short jobs");
        pace.interval.set(30);
        assert_eq!(shares(&pace), [3, 6, 12, 24, 30, 30, 30, 30], "of long ones");
        pace.has_taken(29);
        assert_eq!(pace.share(), 1);
        assert_eq!(shares(&Pace::new(1)), [1; 8]);
    }

    /// Runs jobs, each for some microseconds of a virtual clock; returns the jobs before which the worker looked.
    fn looks(pace: &Pace, jobs: Range<u32>, micros: impl Fn(u32) -> u64) -> Vec<u32> {
        let clock = Cell::new(pace.told.get().unwrap_or_else(time::now));
        let run = |&job: &u32| clock.set(clock.get() + Duration::from_micros(micros(job)));
        let due = jobs.inspect(run).filter(|_| pace.is_due());
        due.filter(|_| pace.look_by(|| clock.get()) != Look::Early).collect()
    }

    #[test]
    fn short_jobs_leave_the_look_as_configured() {
        let pace = Pace::new(61);
        assert_eq!(looks(&pace, 1..250, |_| 0), [61, 122, 183, 244]);
        assert_eq!(pace.interval.get(), 61, "and reads the clock no more often");
        pace.pause();
        let sleep = |job| if job == 250 { 10_000 } else { 0 };
        assert_eq!(looks(&pace, 250..310, sleep), [305], "a sleep is no time of jobs");
        assert!(looks(&Pace::new(u32::MAX), 1..1000, |_| 0).is_empty());
    }

    #[test]
    fn long_jobs_bring_a_look_before_each() {
        let pace = Pace::new(61);
        assert!(looks(&pace, 1..100, |_| 200).into_iter().eq(16..100));
        let pace = Pace::new(61);
        let found = looks(&pace, 1..700, |job| if job < 500 { 0 } else { 200 });
        assert!(found.ends_with(&(549..700).collect::<Vec<_>>()), "from the next look");
    }

    #[test]
    fn the_first_look_after_the_target_time_is_told() {
        let pace = Pace::new(1);
        let begun = time::now();
        pace.told.set(Some(begun));
        pace.last.set(Some(begun));
        let micros = [25, 49, 50, 99, 175, 199];
        let kinds = micros.map(|at| pace.look_by(|| begun + Duration::from_micros(at)));
        use Look::{InTime, Often};
        assert_eq!(kinds, [Often, Often, InTime, Often, InTime, Often]);
    }

    #[test]
    fn jobs_run_in_a_look_count() {
        let pace = Pace::new(61);
        (0..30).for_each(|_| pace.count());
        assert!(pace.is_due_next());
        assert_eq!(looks(&pace, 31..200, |_| 0)[..2], [61, 122]);
    }

    #[test]
    fn a_tiny_job_delays_the_next_look_by_one() {
        let pace = Pace::new(61);
        let found = looks(&pace, 1..40, |job| if job == 30 { 0 } else { 200 });
        assert!(found.into_iter().eq((16..30).chain(32..40)));
    }

    #[test]
    fn an_interruption_comes_first_and_delays_no_look() {
        let pace = Pace::new(8);
        pace.is_due_after(8);
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
        assert_eq!(
            (0..).take_while(|_| !pace.is_due()).count(),
            FEW as usize - 1,
            "forgotten in its sleep"
        );
    }
}
