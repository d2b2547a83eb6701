//! The readiness of one direction of a source: an atomic, changed only through the transitions here.
//!
//! Every operation is Relaxed: the state says only whether a system call is worth a try, and the bytes come from the kernel.
//! A single step must not be missed: the last look of a task before it waits, beside an event. It happens under the
//! source's lock, which orders it.

use core::fmt;

use brigade_sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An event reported it, and no operation has found the opposite since.
const READY: u64 = 1;
/// No operation has been tried and there was no event: the first operation is tried without waiting. Never set again.
const UNTRIED: u64 = 2;
/// The present readiness is the last: no event will follow. Set only with `READY`.
const ENDED: u64 = 4;
/// It was reported to a task, which may not have used it, and is not `READY` any more. By edge the kernel must be asked again
/// before a task waits, as it may never report it otherwise. Set only without `READY`.
const REPORTED: u64 = 8;
/// The last event came with others.
const CROWD: u64 = 16;
/// An event. The bits above count events, so an event between a snapshot and a transition is not lost.
const EVENT: u64 = 32;

/// Whether an operation may succeed.
pub(crate) struct Readiness(AtomicU64);

/// The state seen by a task before a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

impl Readiness {
    /// `untried`: whether the first operation is tried without waiting.
    pub(crate) fn new(untried: bool) -> Self {
        Self(AtomicU64::new(if untried { UNTRIED } else { 0 }))
    }

    #[inline]
    pub(crate) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Relaxed))
    }

    /// An event reports readiness, and perhaps the end of events; `is_crowd`: with others. The caller must hold the source's lock.
    pub(crate) fn set(&self, ended: bool, is_crowd: bool) {
        let bits = READY | if ended { ENDED } else { 0 } | if is_crowd { CROWD } else { 0 };
        let next = |word: u64| Some(((word & !(REPORTED | CROWD)) | bits).wrapping_add(EVENT));
        _ = self.0.fetch_update(Relaxed, Relaxed, next);
    }

    /// An operation would have blocked.
    pub(crate) fn clear(&self, seen: Snapshot) {
        self.change(seen, seen.0 & !(READY | UNTRIED | ENDED | REPORTED));
    }

    /// An operation left nothing. Readiness after the last event stays: the end must still be read.
    pub(crate) fn drain(&self, seen: Snapshot) {
        if seen.0 & ENDED == 0 {
            self.change(seen, seen.0 & !(READY | UNTRIED));
        }
    }

    /// It has been reported to a task, or a task requests a new report: the state is outdated.
    pub(crate) fn report(&self, seen: Snapshot) {
        self.change(seen, seen.0 & !(READY | UNTRIED | ENDED) | REPORTED);
    }

    /// Whether the kernel must be asked again, which the caller then does. It must hold the source's lock.
    #[must_use]
    pub(crate) fn take_reported(&self) -> bool {
        self.0.load(Relaxed) & REPORTED != 0 && self.0.fetch_and(!REPORTED, Relaxed) & REPORTED != 0
    }

    /// From now on only events count.
    pub(crate) fn require_event(&self) {
        let seen = self.load();
        if seen.0 & UNTRIED != 0 {
            self.change(seen, seen.0 & !UNTRIED);
        }
    }

    /// Does nothing if there was an event or another transition since the snapshot.
    fn change(&self, seen: Snapshot, next: u64) {
        let _ = self.0.compare_exchange(seen.0, next, Relaxed, Relaxed);
    }
}

impl Snapshot {
    /// Whether an operation is worth a try.
    #[inline]
    pub(crate) fn may_succeed(self) -> bool {
        self.0 & (READY | UNTRIED) != 0
    }

    /// Whether the last event came with others.
    pub(crate) fn is_in_crowd(self) -> bool {
        self.0 & CROWD != 0
    }

    /// Whether there was an event between `earlier` and this.
    pub(crate) fn has_event_since(self, earlier: Self) -> bool {
        self.0 / EVENT != earlier.0 / EVENT
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.0.load(Relaxed);
        let has = |bit| word & bit != 0;
        f.debug_struct("Readiness")
            .field("ready", &has(READY))
            .field("untried", &has(UNTRIED))
            .field("ended", &has(ENDED))
            .field("reported", &has(REPORTED))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_after_the_snapshot_stays() {
        let readiness = Readiness::new(true);
        let seen = readiness.load();
        readiness.set(false, false);
        readiness.clear(seen);
        assert!(readiness.load().may_succeed());
        assert!(readiness.load().has_event_since(seen));
        readiness.clear(readiness.load());
        assert!(!readiness.load().may_succeed());
    }

    #[test]
    fn only_would_block_ends_readiness() {
        let readiness = Readiness::new(false);
        assert!(!readiness.load().may_succeed());
        readiness.set(true, false);
        readiness.drain(readiness.load());
        assert!(readiness.load().may_succeed());
        readiness.clear(readiness.load());
        assert!(!readiness.load().may_succeed());
    }

    #[test]
    fn a_reported_event_is_asked_for_once() {
        let readiness = Readiness::new(false);
        readiness.set(false, false);
        readiness.report(readiness.load());
        assert!(!readiness.load().may_succeed());
        assert!(readiness.take_reported() && !readiness.take_reported());
        readiness.report(readiness.load());
        readiness.set(false, false);
        assert!(readiness.load().may_succeed() && !readiness.take_reported());
        readiness.report(readiness.load());
        readiness.clear(readiness.load());
        assert!(!readiness.take_reported());
    }

    #[test]
    fn untried_readiness_may_succeed() {
        let readiness = Readiness::new(true);
        assert!(readiness.load().may_succeed());
        readiness.require_event();
        assert!(!readiness.load().may_succeed());
        readiness.set(false, false);
        readiness.require_event();
        assert!(readiness.load().may_succeed());
    }
}
