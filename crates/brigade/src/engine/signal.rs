//! Waiting for a condition whose state is elsewhere.

use std::time::{Duration, Instant};

use brigade_sync::{Condvar, Mutex};

/// What threads wait on; whatever changes the condition must [notify](Self::notify) afterwards.
#[derive(Default)]
pub(super) struct Signal {
    lock: Mutex<()>,
    changed: Condvar,
}

/// How long it is until then; `None` is for ever, zero is over.
pub(super) fn left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|at| at.saturating_duration_since(Instant::now()))
}

impl Signal {
    /// Waits until `is_so`, or until then; whether it is so.
    pub(super) fn wait_until(&self, deadline: Option<Instant>, is_so: impl Fn() -> bool) -> bool {
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

    /// The condition has changed.
    pub(super) fn notify(&self) {
        // A thread between its look and its sleep would not notice.
        drop(self.lock.lock());
        self.changed.notify_all();
    }
}
