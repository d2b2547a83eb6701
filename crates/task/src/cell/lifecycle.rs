//! The lifecycle of a future and its reference count: an atomic, and its transitions.
//!
//! | bit | meaning | set by | cleared by |
//! |---|---|---|---|
//! | `SCHEDULED` | it must be polled, or polled again if it is being polled | initially, a wake | the start of a poll |
//! | `RUNNING` | it is being polled or dropped, or has ended | the start of a poll | the end of a pending poll |
//! | `UNPOLLED` | it has not been polled | initially | the start of the first poll |
//!
//! The bits above count references: one for each job, one for a running guard, and one for each waker.
//!
//! | `SCHEDULED` | `RUNNING` | the future |
//! |---|---|---|
//! | – | – | is idle: a wake makes its job |
//! | yes | – | is queued: there is a job, unless the scheduler has [left](crate::Job::leave) the future to its end |
//! | – | yes | is being polled, or has ended |
//! | yes | yes | was woken while being polled: the end of the poll makes its job again; or has ended |
//!
//! **Access rule.** Access to the future belongs to the running guard. There is a single guard: it belongs to the thread that has
//! changed the state from queued to being polled. The holder of the access alone touches the future and its key, and ends it. An ended
//! future stays `RUNNING`, so no job is made of it any more.
//!
//! No wake is lost, as each is a change of this atomic, even where it changes no bit. If it comes before the poll starts, the
//! poll sees all writes before the wake. Otherwise the end of the poll finds `SCHEDULED`, or the wake makes the job.
//!
//! **Claim.** A job turns into the running guard if the future is queued. So may the handle of the future, before the first poll the
//! canceller, and after it a reference: it claims the future, with an additional reference. A single change of this atomic decides
//! between them. A late job is stale, and drops its reference like a waker. If the future has been queued again by then, the stale
//! job polls it in place of the other job, which comes too late in turn: both do the same.
//!
//! Closures do not use this atomic.

use brigade_sync::atomic::{AtomicU32, Ordering};
use brigade_sync::fork;

const SCHEDULED: u32 = 1;
const RUNNING: u32 = 2;
const UNPOLLED: u32 = 4;
const REFERENCE: u32 = 8;

/// The largest count: beyond it the count could wrap around before all threads incrementing it are stopped.
const MAX_COUNT: u32 = u32::MAX / 2;

/// The message of the abort after too many wakers were forgotten.
const OVERFLOW: &str = "brigade: a future has more than 2^28 wakers; are they being forgotten?";

/// The lifecycle of a future.
pub(crate) struct Lifecycle(AtomicU32);

/// The next step of a wake by value, which consumes the waker's reference.
#[must_use]
pub(crate) enum Wake {
    /// Make the job, which takes over the reference.
    Schedule,
    /// Nothing: it is queued or being polled, or has ended.
    AlreadyScheduled,
    /// Release the cell: it was the last reference to an ended future.
    LastReference,
}

/// The next step after a pending poll.
#[must_use]
pub(crate) enum Pause {
    /// Nothing: the future is idle, and the access and the reference are gone.
    Idle,
    /// Make the job again, which takes over the access and the reference.
    Reschedule,
    /// End the future: nothing can wake it any more. The caller still has the access.
    Orphaned,
}

/// The next step after a reference was dropped.
#[must_use]
pub(crate) enum Dropped {
    /// Nothing: there are other references.
    Referenced,
    /// Release the cell: it was the last reference to an ended future.
    LastReference,
    /// Make the job, which ends the future and takes over the reference: nothing else could wake the idle future.
    Orphaned,
}

impl Lifecycle {
    /// Returns the lifecycle of a future queued for the first time.
    pub(super) fn scheduled() -> Self {
        Self(AtomicU32::new(SCHEDULED | UNPOLLED | REFERENCE))
    }

    /// Returns the unused lifecycle of a closure.
    pub(super) fn unused() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Applies `next` to the state; returns the previous state.
    #[inline(always)]
    fn update(&self, order: Ordering, next: &dyn Fn(u32) -> u32) -> u32 {
        // Ordering: Relaxed: the exchange publishes and acquires.
        let (Ok(before) | Err(before)) =
            self.0.fetch_update(order, Ordering::Relaxed, |word| Some(next(word)));
        before
    }

    /// Starts a poll by a job, which turns into the running guard, and returns whether `UNPOLLED` was set; `None` if the job is stale.
    #[inline]
    #[must_use]
    pub(crate) fn begin_poll(&self) -> Option<bool> {
        let next =
            |word| if is_queued(word) { (word - SCHEDULED + RUNNING) & !UNPOLLED } else { word };
        // Ordering: Acquire pairs with the Releases of the wakes and of the former poll's end. All changes between are
        // read-modify-writes of the same atomic, so each continues the release sequence.
        let before = self.update(Ordering::Acquire, &next);
        is_queued(before).then_some(before & UNPOLLED != 0)
    }

    /// Starts a poll, or the drop of the future, beside the job, and adds a reference for the running guard. Returns `false` if the
    /// future is not queued, or if `may_claim` refuses, whose argument says whether `UNPOLLED` is set.
    #[must_use]
    pub(crate) fn claim(&self, may_claim: impl Fn(bool) -> bool) -> bool {
        let claims = |word| is_queued(word) && may_claim(word & UNPOLLED != 0);
        let next = |word| if claims(word) { word - SCHEDULED + RUNNING + REFERENCE } else { word };
        // Ordering: Acquire, as in `begin_poll`.
        claims(self.update(Ordering::Acquire, &next))
    }

    /// Claims an idle or queued future, with a reference, and wakes a future being polled. Returns whether it is claimed.
    #[must_use]
    pub(crate) fn claim_or_wake(&self) -> bool {
        let runs = |word| word & RUNNING != 0;
        let claimed = |word| (word & !SCHEDULED) + RUNNING + REFERENCE;
        let next = |word| if runs(word) { word | SCHEDULED } else { claimed(word) };
        // Ordering: Acquire, as in `begin_poll`; Release, as in `wake_by_ref`.
        !runs(self.update(Ordering::AcqRel, &next))
    }

    /// Notes the start of the poll or drop of a claimed future; whether it was never polled before.
    pub(crate) fn begin_claimed(&self) -> bool {
        // Ordering: Relaxed: only the holder of the access changes this bit.
        self.0.fetch_and(!UNPOLLED, Ordering::Relaxed) & UNPOLLED != 0
    }

    /// Whether `UNPOLLED` is set, at this moment.
    pub(crate) fn is_unpolled(&self) -> bool {
        // Ordering: Relaxed: a hint; `begin_poll` decides.
        self.0.load(Ordering::Relaxed) & UNPOLLED != 0
    }

    /// Whether the future is idle, at this moment.
    pub(crate) fn is_idle(&self) -> bool {
        // Ordering: Relaxed: a hint; a wake decides.
        self.0.load(Ordering::Relaxed) & (SCHEDULED | RUNNING) == 0
    }

    /// Whether a job of the future is not stale, at this moment.
    pub(crate) fn is_queued(&self) -> bool {
        // Ordering: Relaxed: a hint; `begin_poll` decides.
        is_queued(self.0.load(Ordering::Relaxed))
    }

    /// Returns whether it has been woken since the poll began; the answer `true` holds until the poll ends.
    #[inline]
    pub(crate) fn is_woken(&self) -> bool {
        // Ordering: Relaxed: `end_poll` looks again.
        self.0.load(Ordering::Relaxed) & SCHEDULED != 0
    }

    /// Ends a pending poll.
    pub(crate) fn end_poll(&self) -> Pause {
        let next = |word| match word & SCHEDULED != 0 {
            true => word & !RUNNING,
            false if word < 2 * REFERENCE => word,
            false => word - RUNNING - REFERENCE,
        };
        // Ordering: Release pairs with the Acquire in `begin_poll`: the next poll finds the future as this poll left
        // it. It also pairs with the Acquire of the last drop of a reference: our last use of the memory comes before
        // it is freed.
        let before = self.update(Ordering::Release, &next);
        match before & SCHEDULED != 0 {
            true => Pause::Reschedule,
            false if before < 2 * REFERENCE => Pause::Orphaned,
            false => Pause::Idle,
        }
    }

    /// Adds a reference for a further job of a queued future that has been polled, or `may_be_first`; `false` if the future is not
    /// queued.
    #[must_use]
    pub(crate) fn add_job(&self, may_be_first: bool) -> bool {
        let may = |word| is_queued(word) && (may_be_first || word & UNPOLLED == 0);
        let next = |word| if may(word) { word + REFERENCE } else { word };
        // Ordering: Release, as in `wake_by_ref`: who sees a later state sees the writes before this.
        may(self.update(Ordering::AcqRel, &next))
    }

    /// Wakes the future; `true` if the caller must make the job, for which a reference has been added.
    #[must_use]
    pub(crate) fn wake_by_ref(&self) -> bool {
        let is_idle = |word| word & (SCHEDULED | RUNNING) == 0;
        let next = |word| if is_idle(word) { word + REFERENCE } else { word } | SCHEDULED;
        // Ordering: Release pairs with the Acquire in `begin_poll`: the next poll sees why it was woken.
        is_idle(self.update(Ordering::Release, &next))
    }

    /// Wakes the future and consumes the caller's reference.
    pub(crate) fn wake(&self) -> Wake {
        let is_idle = |word| word & (SCHEDULED | RUNNING) == 0;
        let next = |word| if is_idle(word) { word } else { word - REFERENCE } | SCHEDULED;
        // Ordering: Release, as above; AcqRel, as in `drop_reference`.
        let before = self.update(Ordering::AcqRel, &next);
        match is_idle(before) {
            true => Wake::Schedule,
            // A job and a running guard have a reference of their own, so it has ended.
            false if before < 2 * REFERENCE => Wake::LastReference,
            false => Wake::AlreadyScheduled,
        }
    }

    /// Adds a reference; the caller has a reference already.
    pub(crate) fn add_reference(&self) {
        // Ordering: Relaxed: the new reference is passed on in a synchronised way.
        if self.0.fetch_add(REFERENCE, Ordering::Relaxed) > MAX_COUNT {
            fork::abort(OVERFLOW);
        }
    }

    /// Drops a reference other than the job's.
    pub(crate) fn drop_reference(&self) -> Dropped {
        // In one step: as soon as we have no reference, a canceller may make the job, and the job may end the future.
        let is_orphaned = |word| word == REFERENCE;
        let next = |word| if is_orphaned(word) { word | SCHEDULED } else { word - REFERENCE };
        // Ordering: Release: our last use of the memory comes before the last drop. Acquire: if ours is the last, all
        // other uses come before it.
        let before = self.update(Ordering::AcqRel, &next);
        match is_orphaned(before) {
            true => Dropped::Orphaned,
            false if before < 2 * REFERENCE => Dropped::LastReference,
            false => Dropped::Referenced,
        }
    }

    /// Drops the running guard's reference to an ended future; `true` if it was the last.
    #[must_use]
    pub(crate) fn finish(&self) -> bool {
        // If there is no other reference, none can be added any more.
        // Ordering: Acquire, as in `drop_reference`.
        if self.0.load(Ordering::Acquire) < 2 * REFERENCE {
            return true;
        }
        // Ordering: AcqRel, as in `drop_reference`.
        self.0.fetch_sub(REFERENCE, Ordering::AcqRel) < 2 * REFERENCE
    }
}

fn is_queued(word: u32) -> bool {
    word & (SCHEDULED | RUNNING) == SCHEDULED
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::env;

    use brigade_testkit::this_program;

    use super::*;

    #[test]
    fn a_count_near_its_end_aborts_with_a_reason() {
        const INNER: &str = "BRIGADE_TEST_TOO_MANY_WAKERS";
        if env::var_os(INNER).is_some() {
            let lifecycle = Lifecycle(AtomicU32::new(MAX_COUNT - MAX_COUNT % REFERENCE));
            lifecycle.add_reference();
            eprintln!("one more");
            lifecycle.add_reference();
            return;
        }
        let name = "cell::lifecycle::tests::a_count_near_its_end_aborts_with_a_reason";
        let mut inner = this_program();
        let inner = inner.args([name, "--exact", "--nocapture"]).env(INNER, "1").output().unwrap();
        let told = String::from_utf8_lossy(&inner.stderr);
        assert!(!inner.status.success() && told.contains("one more"), "{told}");
        assert!(told.contains(OVERFLOW), "{told}");
    }
}
