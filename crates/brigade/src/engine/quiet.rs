//! Waiting until nothing is queued and nothing runs: what the engine does for it. The rule is in `idle/quiet.rs`.

use std::time::{Duration, Instant};

use super::Core;
use crate::idle::Wait;

impl Core {
    /// Waits until nothing is queued and nothing runs, for `timeout` at most; `false` if it is over.
    pub(crate) fn wait_idle(&self, timeout: Option<Duration>) -> bool {
        if timeout == Some(Duration::ZERO) {
            return self.idle.is_quiet(|| self.is_empty());
        }
        // A deadline too far to be written down is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let Wait::Since(quiets) = self.idle.begin_wait(|| self.is_empty()) else { return true };
        let mut waits = self.waits.lock();
        let mut was_quiet = self.idle.was_quiet(quiets);
        while !was_quiet {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            waits = self.changed.wait(waits, left);
            was_quiet = self.idle.was_quiet(quiets);
        }
        drop(waits);
        self.idle.end_wait();
        was_quiet
    }

    /// Whether nothing is queued, for whomever.
    fn is_empty(&self) -> bool {
        !self.has_work() && !self.has_mail()
    }

    /// Tells those who wait if the pool is quiet.
    pub(super) fn look_for_quiet(&self) {
        if self.idle.find_quiet(|| self.is_empty()) {
            self.tell_waiters();
        }
    }

    /// Tells those who wait that the pool has been quiet, or has ended.
    pub(super) fn tell_waiters(&self) {
        // Between their look and their sleep nobody can hear.
        drop(self.waits.lock());
        self.changed.notify_all();
    }
}
