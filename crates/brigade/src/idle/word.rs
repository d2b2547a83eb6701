//! The one word that says what the workers of a pool are doing.
//!
//! | bits | field | changed |
//! |---|---|---|
//! | 0–15 | searching: workers that look for work elsewhere | by each of them; by who wakes one |
//! | 16–31 | parked: workers that sleep, or are about to, and that nobody has woken yet | under the crew's lock |
//! | 32–47 | live: workers that have a thread, or are about to get one | under the crew's lock |
//! | 48 | `WATCHED`: one parked worker looks at the queues every 25 to 400 µs | under the crew's lock |
//! | 49 | `BELOW_CORE`: work is to start a worker, whoever is idle | under the crew's lock |
//! | 50 | `BELOW_MAX`: work is to start a worker if nobody is idle | under the crew's lock |
//! | 51 | `OVER`: the pool was made smaller, and workers are to leave between two jobs | under the crew's lock |
//! | 52 | `BEYOND_CORE`: who has been idle for long may leave | under the crew's lock |
//! | 53 | `CLOSED`: nothing is accepted from outside | once |
//! | 54 | `DISCARD`: nothing is accepted, and what is queued is cancelled; never without `CLOSED` | once |
//! | 55 | `TERMINATED`: workers leave; never while one runs or work is queued | once |
//! | 56 | `QUIET_WANTED`: somebody waits until nothing is queued and nothing runs | under the crew's lock |
//! | 57 | `SHORT`: the same, whatever the growth rule; never without `BELOW_MAX` | under the crew's lock |
//! | 59 | `KEPT`: one parked worker sees to timers and to the driver | under the crew's lock |
//!
//! Live workers that are neither searching nor parked are *running*, those whose thread is just starting among them.

/// One searching worker.
pub(super) const SEARCHING: u64 = 1;
/// One parked worker.
pub(super) const PARKED: u64 = 1 << 16;
/// One live worker.
pub(super) const LIVE: u64 = 1 << 32;
pub(super) const WATCHED: u64 = 1 << 48;
pub(super) const BELOW_CORE: u64 = 1 << 49;
pub(super) const BELOW_MAX: u64 = 1 << 50;
pub(super) const OVER: u64 = 1 << 51;
pub(super) const BEYOND_CORE: u64 = 1 << 52;
pub(super) const CLOSED: u64 = 1 << 53;
pub(super) const DISCARD: u64 = 1 << 54;
pub(super) const TERMINATED: u64 = 1 << 55;
pub(super) const QUIET_WANTED: u64 = 1 << 56;
pub(super) const SHORT: u64 = 1 << 57;
pub(super) const KEPT: u64 = 1 << 59;

const COUNT: u64 = 0xffff;

/// A value of the word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot(pub(super) u64);

impl Snapshot {
    /// Workers that look for work.
    pub(crate) fn searching(self) -> usize {
        (self.0 & COUNT) as usize
    }

    /// Workers that sleep.
    pub(crate) fn parked(self) -> usize {
        ((self.0 / PARKED) & COUNT) as usize
    }

    /// Workers that have a thread, or are about to get one.
    pub(crate) fn live(self) -> usize {
        ((self.0 / LIVE) & COUNT) as usize
    }

    /// Workers that neither search nor sleep.
    pub(crate) fn running(self) -> usize {
        self.live().saturating_sub(self.searching() + self.parked())
    }

    /// Whether every worker sleeps.
    pub(crate) fn all_parked(self) -> bool {
        self.parked() == self.live()
    }

    /// Whether work should wake a worker or start one: nobody is looking already, and somebody could be woken; or the
    /// pool could have more of them.
    #[inline]
    pub(crate) fn wants_help(self) -> bool {
        (self.0 & COUNT == 0 && self.0 & (COUNT * PARKED) != 0)
            || self.0 & (BELOW_CORE | BELOW_MAX) != 0
    }

    /// Whether work is to start a worker, whoever is idle.
    #[inline]
    pub(crate) fn is_below_core(self) -> bool {
        self.0 & BELOW_CORE != 0
    }

    /// Whether work is to start a worker if nobody is idle.
    pub(crate) fn is_below_max(self) -> bool {
        self.0 & BELOW_MAX != 0
    }

    /// Whether a worker is to be started for work however little of it there is: below the core size, or in place of
    /// a blocked one that has nobody there yet.
    pub(crate) fn is_short(self) -> bool {
        self.0 & (BELOW_CORE | SHORT) != 0
    }

    /// Whether somebody could be woken or started.
    pub(crate) fn has_reserves(self) -> bool {
        self.0 & ((COUNT * PARKED) | BELOW_CORE | BELOW_MAX) != 0
    }

    /// Whether there is but one worker, and nobody to start: on it there is nobody to tell of anything.
    #[inline]
    pub(crate) fn is_alone(self) -> bool {
        self.0 & ((COUNT * LIVE) | BELOW_CORE | BELOW_MAX) == LIVE
    }

    /// Whether workers are to leave between two jobs.
    #[inline]
    pub(crate) fn is_over(self) -> bool {
        self.0 & OVER != 0
    }

    /// Whether there are more workers than are kept.
    pub(crate) fn is_beyond_core(self) -> bool {
        self.0 & BEYOND_CORE != 0
    }

    /// Whether a parked worker watches the queues.
    pub(crate) fn watched(self) -> bool {
        self.0 & WATCHED != 0
    }

    /// Whether a parked worker sees to timers and to the driver.
    #[inline]
    pub(crate) fn kept(self) -> bool {
        self.0 & KEPT != 0
    }

    /// Whether the pool accepts nothing from outside any more.
    pub(crate) fn closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether queued work is to be cancelled.
    #[inline]
    pub(crate) fn discards(self) -> bool {
        self.0 & DISCARD != 0
    }

    /// Whether workers are to leave.
    pub(crate) fn terminated(self) -> bool {
        self.0 & TERMINATED != 0
    }

    /// Whether somebody waits until nothing is queued and nothing runs.
    #[inline]
    pub(crate) fn quiet_wanted(self) -> bool {
        self.0 & QUIET_WANTED != 0
    }
}
