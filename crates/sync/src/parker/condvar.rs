//! Blocks threads on a lock and a condition variable, where there is no futex.

use core::time::Duration;

use super::seat::SEATS;
use crate::atomic::{AtomicU32, Ordering};
use crate::lock::{Condvar, Mutex};

/// A lock that is held between the look at the state and the wait.
#[derive(Debug)]
pub(super) struct Sleeper {
    /// Held to look and to wake, so that no wake falls between the look and the wait.
    lock: Mutex<()>,
    /// What the thread waits on.
    condvar: Condvar,
}

impl Sleeper {
    pub(super) fn new() -> Self {
        Self { lock: Mutex::new(()), condvar: Condvar::new() }
    }

    /// Blocks while `state` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(&self, state: &AtomicU32, value: u32, timeout: Option<Duration>) {
        let guard = self.lock.lock();
        // Ordering: Relaxed: the lock orders this look before or after the waker's empty critical section.
        if state.load(Ordering::Relaxed) == value {
            drop(self.condvar.wait(guard, timeout));
        }
    }

    /// Wakes the thread that is blocked on the state.
    pub(super) fn wake(&self, _state: &AtomicU32) {
        drop(self.lock.lock());
        self.condvar.notify_one();
    }
}

/// One [`Sleeper`] for each seat of a group.
#[derive(Debug)]
pub(super) struct Sleepers {
    /// Indexed by seat.
    sleepers: [Sleeper; SEATS as usize],
}

impl Sleepers {
    pub(super) fn new() -> Self {
        Self { sleepers: core::array::from_fn(|_| Sleeper::new()) }
    }

    /// Blocks the thread of a seat while `tokens` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(
        &self,
        seat: u32,
        tokens: &AtomicU32,
        value: u32,
        timeout: Option<Duration>,
    ) {
        self.sleepers[seat as usize].wait(tokens, value, timeout);
    }

    /// Wakes the threads of these seats that are blocked on `tokens`, one after the other.
    pub(super) fn wake(&self, tokens: &AtomicU32, seats: u32) {
        let is_named = |seat: &u32| seats & (1 << seat) != 0;
        (0..SEATS).filter(is_named).for_each(|seat| self.sleepers[seat as usize].wake(tokens));
    }
}
