//! Blocks threads on a lock and a condition variable, where there is no futex.

use core::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::lock::{Condvar, Mutex};

/// A lock and a condition variable for the thread of each of `N` seats.
#[derive(Debug)]
pub(super) struct Sleepers<const N: usize> {
    /// Indexed by seat. The lock is held to look and to wake, so no wake falls between the look and the wait.
    pairs: [(Mutex<()>, Condvar); N],
}

impl<const N: usize> Default for Sleepers<N> {
    fn default() -> Self {
        Self { pairs: core::array::from_fn(|_| Default::default()) }
    }
}

impl<const N: usize> Sleepers<N> {
    /// Blocks the thread of a seat while `state` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(&self, seat: u32, state: &AtomicU32, value: u32, timeout: Option<Duration>) {
        let (lock, condvar) = &self.pairs[seat as usize];
        let guard = lock.lock();
        // Ordering: Relaxed: the lock orders this look before or after the waker's empty critical section.
        if state.load(Ordering::Relaxed) == value {
            drop(condvar.wait(guard, timeout));
        }
    }

    /// Wakes the blocked threads of these seats, one after the other.
    pub(super) fn wake(&self, _state: &AtomicU32, seats: u32) {
        for (seat, (lock, condvar)) in self.pairs.iter().enumerate() {
            if seats & (1 << seat) != 0 {
                drop(lock.lock());
                condvar.notify_one();
            }
        }
    }
}
