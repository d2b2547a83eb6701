//! Whose turn it is at a future, and how many refer to it: one word, and the only ways it changes.
//!
//! | bit | says | set by | cleared by |
//! |---|---|---|---|
//! | `SCHEDULED` | it is to be polled, once more if it is being polled | birth, whoever wakes it | who begins the turn |
//! | `RUNNING` | somebody polls it, drops it, or has ended it | who begins the turn | who polls it, if it goes on |
//!
//! The bits above count references: one of the job, as long as there is one; one of each waker.
//!
//! | `SCHEDULED` | `RUNNING` | the future |
//! |---|---|---|
//! | – | – | waits: whoever wakes it makes its job |
//! | yes | – | is queued: there is one job |
//! | – | yes | is polled, or has ended |
//! | yes | yes | was woken while it was polled: who polls it makes its job again; or has ended |
//!
//! **Turn rule.** The one job, and then who has begun the turn with it, has the turn: there are never two. It touches the
//! future and its number, and alone ends it. What has ended stays `RUNNING`, so that nobody makes a job of it any more.
//!
//! No wake is lost, as it is a change of this word, also where it changes no bit: either it comes before the turn begins,
//! and the poll sees what was written before the wake; or the end of the turn finds `SCHEDULED`; or it makes the job.
//!
//! Of a closure nothing is said here.

use brigade_sync::atomic::{AtomicU32, Ordering};
use brigade_sync::fork;

const SCHEDULED: u32 = 1;
const RUNNING: u32 = 2;
const REFERENCE: u32 = 4;

/// Where counting any further could wrap around before all threads that count are stopped.
const MOST: u32 = u32::MAX / 2;

/// Why a process is aborted that has forgotten so many wakers.
const OVERFLOW: &str = "brigade: a future has more than 2^29 wakers; are they being forgotten?";

/// The word of the turn.
pub(crate) struct Turn(AtomicU32);

/// What a wake by value, which gives its reference up, has to do next.
#[must_use]
pub(crate) enum Wake {
    /// Make the job; it has the reference now.
    Schedule,
    /// Nothing: whoever has the turn sees it, or it has ended.
    Known,
    /// Nothing, and it was the last reference to what has ended.
    Last,
}

/// What who has polled a future that goes on has to do next.
#[must_use]
pub(crate) enum Pause {
    /// Nothing: it waits, and the turn and its reference are given up.
    Waits,
    /// Make the job again; it has the turn and the reference.
    Again,
    /// End it: nobody is left who could wake it. The turn goes on.
    Forsaken,
}

/// What who gives a reference up has to do next.
#[must_use]
pub(crate) enum Release {
    /// Nothing.
    Kept,
    /// It was the last reference to what has ended.
    Last,
    /// It would be the last reference to what waits: make the job, which has it now, so that it is ended.
    Forsaken,
}

impl Turn {
    /// Of a future that is queued for the first time.
    pub(super) fn queued() -> Self {
        Self(AtomicU32::new(SCHEDULED | REFERENCE))
    }

    /// Of a closure.
    pub(super) fn unused() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Changes the word as `next` says; returns what it was.
    fn change(&self, order: Ordering, next: impl Fn(u32) -> u32) -> u32 {
        // Ordering: Relaxed: what goes by this word goes by the exchange.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            match self.0.compare_exchange_weak(word, next(word), order, Ordering::Relaxed) {
                Ok(_) => return word,
                Err(now) => word = now,
            }
        }
    }

    /// The job begins its turn.
    pub(crate) fn begin(&self) {
        // One step for both bits: the one is set, and the other is not.
        // Ordering: Acquire pairs with the Releases of who woke it and of who had the turn before; all changes between are
        // of one word, so that each passes on what the one before it released.
        let before = self.0.fetch_add(RUNNING - SCHEDULED, Ordering::Acquire);
        debug_assert!(before & (SCHEDULED | RUNNING) == SCHEDULED, "one job, one turn");
    }

    /// Whether it has been woken since the turn began; it stays so until the turn ends.
    pub(crate) fn is_woken(&self) -> bool {
        // Ordering: Relaxed: `pause` looks again.
        self.0.load(Ordering::Relaxed) & SCHEDULED != 0
    }

    /// Ends the turn of a future that goes on.
    pub(crate) fn pause(&self) -> Pause {
        let next = |word| match word & SCHEDULED != 0 {
            true => word & !RUNNING,
            false if word < 2 * REFERENCE => word,
            false => word - RUNNING - REFERENCE,
        };
        // Ordering: Release pairs with the Acquire in `begin`: the next turn finds the future as this one leaves it. Also
        // with that of the last release: our last use of the future's memory comes before it is freed.
        let before = self.change(Ordering::Release, next);
        match before & SCHEDULED != 0 {
            true => Pause::Again,
            false if before < 2 * REFERENCE => Pause::Forsaken,
            false => Pause::Waits,
        }
    }

    /// Wakes the future; `true` if the caller is to make the job, which has a reference of its own.
    #[must_use]
    pub(crate) fn wake_by_ref(&self) -> bool {
        let is_idle = |word| word & (SCHEDULED | RUNNING) == 0;
        let next = |word| if is_idle(word) { word + REFERENCE } else { word } | SCHEDULED;
        // Ordering: Release pairs with the Acquire in `begin`: the poll that follows sees why it was woken.
        is_idle(self.change(Ordering::Release, next))
    }

    /// Wakes the future by a waker that is used up.
    pub(crate) fn wake(&self) -> Wake {
        let is_idle = |word| word & (SCHEDULED | RUNNING) == 0;
        let next = |word| if is_idle(word) { word } else { word - REFERENCE } | SCHEDULED;
        // Ordering: Release, as above; AcqRel, as in `release`.
        let before = self.change(Ordering::AcqRel, next);
        match is_idle(before) {
            true => Wake::Schedule,
            // Only what has ended has nobody with the turn, who would have a reference.
            false if before < 2 * REFERENCE => Wake::Last,
            false => Wake::Known,
        }
    }

    /// Takes one more reference; the caller has one.
    pub(crate) fn acquire(&self) {
        // Ordering: Relaxed: who has a reference may give one on.
        if self.0.fetch_add(REFERENCE, Ordering::Relaxed) > MOST {
            fork::abort(OVERFLOW);
        }
    }

    /// Gives up a reference other than the job's.
    pub(crate) fn release(&self) -> Release {
        // In one step: whoever cancels it may make its job, and that end it, as soon as we have no reference.
        let is_forsaken = |word| word == REFERENCE;
        let next = |word| if is_forsaken(word) { word | SCHEDULED } else { word - REFERENCE };
        // Ordering: Release: our last use of the memory comes before the last release; Acquire: and all others' before
        // ours, if it is the last.
        let before = self.change(Ordering::AcqRel, next);
        match is_forsaken(before) {
            true => Release::Forsaken,
            false if before < 2 * REFERENCE => Release::Last,
            false => Release::Kept,
        }
    }

    /// Gives up the reference of who has ended the future; `true` if it was the last.
    #[must_use]
    pub(crate) fn end(&self) -> bool {
        // If nobody else has a reference nobody can take one any more.
        // Ordering: Acquire, as in `release`.
        if self.0.load(Ordering::Acquire) < 2 * REFERENCE {
            return true;
        }
        // Ordering: AcqRel, as in `release`.
        self.0.fetch_sub(REFERENCE, Ordering::AcqRel) < 2 * REFERENCE
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::env;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_count_of_references_that_nears_its_end_aborts_with_a_reason() {
        const INNER: &str = "BRIGADE_TEST_TOO_MANY_WAKERS";
        if env::var_os(INNER).is_some() {
            let turn = Turn(AtomicU32::new(MOST - MOST % REFERENCE));
            turn.acquire();
            eprintln!("one more");
            turn.acquire();
            return;
        }
        let name =
            "cell::turn::tests::a_count_of_references_that_nears_its_end_aborts_with_a_reason";
        let mut inner = Command::new(env::current_exe().unwrap());
        let inner = inner.args([name, "--exact", "--nocapture"]).env(INNER, "1").output().unwrap();
        let told = String::from_utf8_lossy(&inner.stderr);
        assert!(!inner.status.success() && told.contains("one more"), "{told}");
        assert!(told.contains(OVERFLOW), "{told}");
    }
}
