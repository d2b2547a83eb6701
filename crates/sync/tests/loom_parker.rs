//! Models of the parker; `ci/loom.sh` runs them.
//!
//! Threads block on a lock and a condition variable, as the model checker has no futex; the protocol of the state is the
//! same for both.

#![cfg(brigade_loom)]
#![allow(clippy::disallowed_types, reason = "threads and counters of a model are loom's own")]
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use brigade_sync::Parker;
use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::model::{check, turn};
use loom::thread;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A parker and data that a token publishes.
#[derive(Default)]
struct Mailbox {
    parker: Parker,
    letter: AtomicUsize,
}

impl Mailbox {
    fn deliver(&self, letter: usize) -> bool {
        turn();
        self.letter.store(letter, Ordering::Relaxed);
        self.parker.unpark()
    }

    fn read(&self) -> usize {
        self.letter.load(Ordering::Relaxed)
    }
}

/// Caught: `unpark` swapping with Relaxed (the letter not seen); `Sleepers::wake` without the lock (a wake
/// between the look and the wait: deadlock); `park` writing `ASLEEP` by a swap (the token overwritten: deadlock).
#[test]
fn a_token_stored_while_parking_stays() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let other = mailbox.clone();
        let sender = thread::spawn(move || other.deliver(7));
        turn();
        assert!(mailbox.parker.park(None));
        assert_eq!(mailbox.read(), 7);
        sender.join().unwrap();
        assert!(!mailbox.parker.try_take(), "there was one token");
    });
}

/// Caught: the last look of a timed `park` replaced by a plain store of `EMPTY` (the token lost: deadlock).
#[test]
fn a_token_at_the_timeout_is_taken_or_stays() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let other = mailbox.clone();
        let sender = thread::spawn(move || other.deliver(7));
        turn();
        if !mailbox.parker.park(Some(Duration::from_micros(25))) {
            turn();
            assert!(mailbox.parker.park(None));
        }
        assert_eq!(mailbox.read(), 7);
        sender.join().unwrap();
        assert!(!mailbox.parker.try_take(), "there was one token");
    });
}

/// Caught: `try_take` exchanging with Relaxed (the letter not seen).
#[test]
fn a_token_taken_without_a_park_publishes_writes() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let other = mailbox.clone();
        let sender = thread::spawn(move || other.deliver(7));
        turn();
        if mailbox.parker.try_take() {
            assert_eq!(mailbox.read(), 7);
        } else {
            turn();
            assert!(mailbox.parker.park(None));
        }
        sender.join().unwrap();
    });
}

/// Caught: `unpark` counting tokens (an addition in the place of the swap).
#[test]
fn two_unparks_are_one_token() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let senders = [(); 2].map(|()| {
            let other = mailbox.clone();
            thread::spawn(move || {
                turn();
                other.parker.unpark()
            })
        });
        for sender in senders {
            assert!(!sender.join().unwrap(), "no thread is asleep");
        }
        turn();
        assert!(mailbox.parker.park(None));
        assert!(!mailbox.parker.try_take());
    });
}

/// Caught: `unpark` returning `true` whenever it finds no token.
#[test]
fn one_of_two_unparks_at_most_wakes_the_sleeper() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let senders = [(); 2].map(|()| {
            let other = mailbox.clone();
            thread::spawn(move || {
                turn();
                other.parker.unpark()
            })
        });
        turn();
        assert!(mailbox.parker.park(None));
        let woken = senders.map(|sender| sender.join().unwrap());
        assert!(woken != [true, true], "each sleep is ended once");
        // The later token is left for the next park, or both were one token.
        mailbox.parker.try_take();
        assert!(!mailbox.parker.try_take());
    });
}
