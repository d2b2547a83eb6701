//! What is believed of one direction of a source: one word, changed only through the transitions here.
//!
//! Every operation is Relaxed: the word says only whether a system call is worth the try, and the bytes come from the
//! kernel. What must not be missed (a waiter that looks a last time, an event that finds it) happens under the source's
//! lock, which orders it.

use core::fmt;

use brigade_sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The driver was told so, and nothing was found to the contrary since.
const READY: u64 = 1;
/// Nobody has tried yet. Never set again.
const GUESS: u64 = 2;
/// What there is now is the last: no event will follow it. Set only with `READY`.
const ENDED: u64 = 4;
/// A read has filled its buffer since: there may be no more.
const FILLED: u64 = 8;
/// It was told to somebody, and is not believed any longer although nobody has tried. Whoever waits has to ask again, by
/// edge, as the next event may never come. Set only without `READY`.
const DOUBT: u64 = 16;
/// One event. The bits above count them, so that an event between a look and a transition is not lost.
const EVENT: u64 = 32;

/// Whether an operation is worth the try.
pub(crate) struct Readiness(AtomicU64);

/// What was seen before a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Readiness {
    /// Starts with a guess that it is, or without one.
    pub(crate) fn new(guess: bool) -> Self {
        Self(AtomicU64::new(if guess { GUESS } else { 0 }))
    }

    /// What there is to see, ready or not.
    #[inline]
    pub(crate) fn now(&self) -> Seen {
        Seen(self.0.load(Relaxed))
    }

    /// An event says that it is ready, and perhaps that it is the last. The caller holds the source's lock.
    pub(crate) fn raise(&self, ended: bool) {
        let mut word = self.0.load(Relaxed);
        loop {
            let bits = READY | if ended { ENDED } else { 0 };
            let next = ((word & !(FILLED | DOUBT)) | bits).wrapping_add(EVENT);
            match self.0.compare_exchange_weak(word, next, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(other) => word = other,
            }
        }
    }

    /// A try would have blocked: nothing is believed any more.
    pub(crate) fn blocked(&self, seen: Seen) {
        self.lower(seen, seen.0 & !(READY | GUESS | ENDED | FILLED | DOUBT));
    }

    /// Whoever was to be told has been, or wants to be told anew: nothing is believed any more, and nothing known.
    pub(crate) fn told(&self, seen: Seen) {
        self.lower(seen, seen.0 & !(READY | GUESS | ENDED | FILLED) | DOUBT);
    }

    /// Whether the kernel has to be asked again, which the caller does. It holds the source's lock.
    #[must_use]
    pub(crate) fn take_doubt(&self) -> bool {
        self.0.load(Relaxed) & DOUBT != 0 && self.0.fetch_and(!DOUBT, Relaxed) & DOUBT != 0
    }

    /// A try took all there was. After the last event that is still to be tried: there is the end to be had.
    pub(crate) fn drained(&self, seen: Seen) {
        if seen.0 & ENDED == 0 {
            self.lower(seen, seen.0 & !(READY | GUESS | FILLED));
        }
    }

    /// A try filled its buffer, and the next one is to show whether there is more.
    pub(crate) fn filled(&self, seen: Seen) {
        if !seen.was_filled() {
            self.lower(seen, seen.0 | FILLED);
        }
    }

    /// Only what was told counts from now on.
    pub(crate) fn stop_guessing(&self) {
        let seen = self.now();
        if seen.0 & GUESS != 0 {
            self.lower(seen, seen.0 & !GUESS);
        }
    }

    /// Changes nothing if there was an event since, or if another try has had its say.
    fn lower(&self, seen: Seen, next: u64) {
        let _ = self.0.compare_exchange(seen.0, next, Relaxed, Relaxed);
    }
}

impl Seen {
    /// Whether an operation is worth the try.
    #[inline]
    pub(crate) fn worth_a_try(self) -> bool {
        self.0 & (READY | GUESS) != 0
    }

    /// Whether the last try filled its buffer, and no event came since.
    pub(crate) fn was_filled(self) -> bool {
        self.0 & FILLED != 0
    }

    /// Whether there was an event between `earlier` and this.
    pub(crate) fn is_news_since(self, earlier: Self) -> bool {
        self.0 / EVENT != earlier.0 / EVENT
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.0.load(Relaxed);
        let has = |bit| word & bit != 0;
        f.debug_struct("Readiness")
            .field("ready", &has(READY))
            .field("guess", &has(GUESS))
            .field("ended", &has(ENDED))
            .field("doubt", &has(DOUBT))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_between_the_look_and_the_transition_stays() {
        let readiness = Readiness::new(true);
        let seen = readiness.now();
        readiness.raise(false);
        readiness.blocked(seen);
        assert!(readiness.now().worth_a_try());
        assert!(readiness.now().is_news_since(seen));
        readiness.blocked(readiness.now());
        assert!(!readiness.now().worth_a_try());
    }

    #[test]
    fn a_short_read_is_not_the_end_but_one_that_would_block_is() {
        let readiness = Readiness::new(false);
        assert!(!readiness.now().worth_a_try());
        readiness.raise(true);
        readiness.drained(readiness.now());
        assert!(readiness.now().worth_a_try());
        readiness.blocked(readiness.now());
        assert!(!readiness.now().worth_a_try());
    }

    #[test]
    fn what_was_told_is_asked_again_once_unless_it_is_tried_or_happens_again() {
        let readiness = Readiness::new(false);
        readiness.raise(false);
        readiness.told(readiness.now());
        assert!(!readiness.now().worth_a_try());
        assert!(readiness.take_doubt() && !readiness.take_doubt());
        readiness.told(readiness.now());
        readiness.raise(false);
        assert!(readiness.now().worth_a_try() && !readiness.take_doubt());
        readiness.told(readiness.now());
        readiness.blocked(readiness.now());
        assert!(!readiness.take_doubt());
    }

    #[test]
    fn a_guess_is_worth_a_try_until_told_to_stop() {
        let readiness = Readiness::new(true);
        assert!(readiness.now().worth_a_try());
        readiness.stop_guessing();
        assert!(!readiness.now().worth_a_try());
        readiness.raise(false);
        readiness.stop_guessing();
        assert!(readiness.now().worth_a_try());
    }
}
