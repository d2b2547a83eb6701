//! Sleeping on a lock and a condition variable, where there is no futex.

use core::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::{Condvar, Mutex, ParkerGroup};

/// How many sleepers a group has.
const SEATS: usize = ParkerGroup::SEATS as usize;

/// A lock that the sleeper holds between its look at the word and its sleep.
#[derive(Debug)]
pub(super) struct Sleeper {
    /// Held to look and to wake, so that no wake falls between look and sleep.
    lock: Mutex<()>,
    /// What the thread waits on.
    condvar: Condvar,
}

impl Sleeper {
    pub(super) fn new() -> Self {
        Self { lock: Mutex::new(()), condvar: Condvar::new() }
    }

    /// Sleeps while `word` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(&self, word: &AtomicU32, value: u32, timeout: Option<Duration>) {
        let guard = self.lock.lock();
        // The lock orders this look before or after the waker's empty critical section.
        if word.load(Ordering::Relaxed) == value {
            drop(self.condvar.wait(guard, timeout));
        }
    }

    /// Wakes the thread that sleeps on the word.
    pub(super) fn wake(&self, _word: &AtomicU32) {
        drop(self.lock.lock());
        self.condvar.notify_one();
    }
}

/// A [`Sleeper`] for each seat of a group.
#[derive(Debug)]
pub(super) struct Bench {
    /// By seat.
    sleepers: [Sleeper; SEATS],
}

impl Bench {
    pub(super) fn new() -> Self {
        Self { sleepers: core::array::from_fn(|_| Sleeper::new()) }
    }

    /// Sleeps on a seat while `word` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(&self, seat: u32, word: &AtomicU32, value: u32, timeout: Option<Duration>) {
        self.sleepers[seat as usize].wait(word, value, timeout);
    }

    /// Wakes the threads that sleep on these seats of `word`, one after the other.
    pub(super) fn wake(&self, word: &AtomicU32, seats: u32) {
        let named = |seat: &usize| seats & (1 << seat) != 0;
        (0..SEATS).filter(named).for_each(|seat| self.sleepers[seat].wake(word));
    }
}
