//! Waiting for a condition stored elsewhere.

use std::time::{Duration, Instant};

use brigade_sync::time;
use brigade_sync::{Condvar, Mutex};

/// A condition variable without the condition. Code that changes the condition must [notify](Self::notify)
/// afterwards.
#[derive(Default)]
pub(in crate::engine) struct Signal {
    lock: Mutex<()>,
    changed: Condvar,
}

/// The time left until a deadline; `None` is unlimited, zero is over.
pub(in crate::engine) fn left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(time::until)
}

impl Signal {
    /// Waits until `is_so` returns `true`, or until the deadline; returns the last result of `is_so`.
    pub(in crate::engine) fn wait_until(
        &self,
        deadline: Option<Instant>,
        is_so: impl Fn() -> bool,
    ) -> bool {
        let mut lock = self.lock.lock();
        loop {
            if is_so() {
                return true;
            }
            let left = left(deadline);
            if left == Some(Duration::ZERO) {
                return false;
            }
            lock = self.changed.wait(lock, left);
        }
    }

    /// Wakes the waiting threads after the condition has changed.
    pub(in crate::engine) fn notify(&self) {
        // Without the lock, a thread between check and sleep would miss the notification.
        drop(self.lock.lock());
        self.changed.notify_all();
    }
}
