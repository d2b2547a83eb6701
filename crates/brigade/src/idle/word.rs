//! The one word that says what the workers of a pool are doing.
//!
//! | bits | field | changed |
//! |---|---|---|
//! | 0–15 | searching: workers that look for work elsewhere | by each of them; by who wakes one |
//! | 16–31 | parked: workers that sleep, or are about to, and that nobody has woken yet | under the sleepers' lock |
//! | 32 | `WATCHED`: one parked worker looks at the queues every few dozen µs | under the sleepers' lock |
//! | 33 | `CLOSED`: nothing is accepted from outside | once |
//! | 34 | `DISCARD`: nothing is accepted, and what is queued is cancelled; never without `CLOSED` | once |
//! | 35 | `TERMINATED`: workers leave; never while one runs or work is queued | once |
//! | 36 | `QUIET_WANTED`: somebody waits for all workers to be parked | under the quiet lock |
//!
//! Workers that are neither searching nor parked are *running*.

/// One searching worker.
pub(super) const SEARCHING: u64 = 1;
/// One parked worker.
pub(super) const PARKED: u64 = 1 << 16;
pub(super) const WATCHED: u64 = 1 << 32;
pub(super) const CLOSED: u64 = 1 << 33;
pub(super) const DISCARD: u64 = 1 << 34;
pub(super) const TERMINATED: u64 = 1 << 35;
pub(super) const QUIET_WANTED: u64 = 1 << 36;

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

    /// Whether a worker could be woken and nobody is looking already.
    #[inline]
    pub(crate) fn wants_wake(self) -> bool {
        self.0 & COUNT == 0 && (self.0 / PARKED) & COUNT != 0
    }

    /// Whether a parked worker watches the queues.
    pub(crate) fn watched(self) -> bool {
        self.0 & WATCHED != 0
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

    /// Whether somebody waits for all workers to be parked.
    pub(crate) fn quiet_wanted(self) -> bool {
        self.0 & QUIET_WANTED != 0
    }
}
