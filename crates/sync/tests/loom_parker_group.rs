//! Models of the parker of a group; `ci/loom.sh` runs them.
//!
//! Threads block on locks and condition variables, as the model checker has no futex; the protocol of the two atomics is
//! the same for both.

#![cfg(brigade_loom)]
#![allow(clippy::disallowed_types, reason = "threads and counters of a model are loom's own")]
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use brigade_sync::ParkerGroup;
use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::model::{check, turn};
use loom::thread;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A group and data that tokens publish.
#[derive(Default)]
struct Mailbox {
    group: ParkerGroup,
    letter: AtomicUsize,
}

impl Mailbox {
    fn deliver(&self, seats: u32) -> u32 {
        turn();
        self.letter.store(7, Ordering::Relaxed);
        self.group.unpark(seats)
    }

    fn receive(&self, seat: u32) {
        turn();
        assert!(self.group.park(seat, None));
        assert_eq!(self.letter.load(Ordering::Relaxed), 7);
    }
}

/// Caught: without either fence (deadlock); `unpark` looking at `asleep` before it stores the token (deadlock);
/// `unpark` or `take` exchanging with Relaxed (the letter not seen).
#[test]
fn a_token_stored_while_parking_stays() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let other = mailbox.clone();
        let sender = thread::spawn(move || other.deliver(0b10));
        mailbox.receive(1);
        sender.join().unwrap();
        assert_eq!(mailbox.group.asleep(), 0);
        assert!(!mailbox.group.try_take(1), "there was one token");
    });
}

/// Caught: a waker that leaves out the seats behind the first one (deadlock).
#[test]
fn one_unpark_reaches_two_parking_threads() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let other = mailbox.clone();
        let second = thread::spawn(move || other.receive(1));
        let other = mailbox.clone();
        let sender = thread::spawn(move || other.deliver(0b11));
        mailbox.receive(0);
        second.join().unwrap();
        sender.join().unwrap();
        assert_eq!(mailbox.group.asleep(), 0);
    });
}

/// Caught: the last look of a timed `park` dropping the token it finds (deadlock).
#[test]
fn a_token_at_the_timeout_is_taken_or_stays() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let other = mailbox.clone();
        let sender = thread::spawn(move || other.deliver(0b1));
        turn();
        if !mailbox.group.park(0, Some(Duration::from_micros(25))) {
            mailbox.receive(0);
        }
        sender.join().unwrap();
        assert!(!mailbox.group.try_take(0), "there was one token");
    });
}

/// A waker is preempted between its token and its kernel call, and the thread has gone to sleep again in the meantime.
///
/// Caught: `unpark` clearing the bits in `asleep` that it is about to call (deadlock).
#[test]
fn a_second_sleep_is_woken_again() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let other = mailbox.clone();
        let sleeper = thread::spawn(move || {
            other.receive(0);
            other.group.unpark(0b10);
            other.receive(0);
        });
        let other = mailbox.clone();
        let first = thread::spawn(move || other.deliver(0b1));
        // The first token has been taken, whether or not its waker has made the kernel call.
        assert!(mailbox.group.park(1, None));
        mailbox.deliver(0b1);
        first.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// Caught: `unpark` making a call for seats that have a token already; `park` taking the token before it clears its bit in
/// `asleep` (two calls each).
#[test]
fn each_sleep_is_ended_by_one_call() {
    check(3, || {
        let mailbox = Arc::new(Mailbox::default());
        let senders = [(); 2].map(|()| {
            let other = mailbox.clone();
            thread::spawn(move || other.deliver(0b1))
        });
        mailbox.receive(0);
        let calls = senders.map(|sender| sender.join().unwrap());
        assert!(calls != [0b1, 0b1], "there was one sleep");
        mailbox.group.try_take(0);
        assert!(!mailbox.group.try_take(0), "two tokens are one");
    });
}
