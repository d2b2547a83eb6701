//! Whether a wait must be ended; the system call for it is made only while a thread waits.

use brigade_sync::atomic::{AtomicU8, Ordering};

/// No thread waits, and there was no notification.
const IDLE: u8 = 0;
/// A thread waits, or is about to.
const WAITING: u8 = 1;
/// There was a notification. The present wait, or the next, ends at once.
const NOTIFIED: u8 = 2;

/// The flag.
#[derive(Debug, Default)]
pub(crate) struct WakeFlag(AtomicU8);

impl WakeFlag {
    /// Must be called before a wait. `false`: there was a notification, so the wait must not block. A thread's later look for the reason
    /// of a notification misses none: if the notification came before this, the look finds the reason, else it ends the wait.
    #[must_use]
    pub(crate) fn begin_wait(&self) -> bool {
        // Ordering: Relaxed. If the wait of another thread has consumed a notification, the other thread has acquired it in
        // `end_wait`, and passed it on by the poll lock.
        self.0.compare_exchange(IDLE, WAITING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Must be called after a wait. Everything that happened before any notification until now is visible then.
    pub(crate) fn end_wait(&self) {
        // Ordering: Acquire pairs with the Release in `notify`: the caller looks for work next, and must find it.
        self.0.swap(IDLE, Ordering::Acquire);
    }

    /// Sets the flag. `true`: a thread waits, and the caller must wake it.
    #[must_use]
    pub(crate) fn notify(&self) -> bool {
        // Ordering: Release pairs with the Acquire in `end_wait`, also for an earlier notification: a swap continues the
        // release sequence.
        self.0.swap(NOTIFIED, Ordering::Release) == WAITING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_notification_wakes_a_wait() {
        let flag = WakeFlag::default();
        assert!(!flag.notify(), "no thread waits");
        assert!(!flag.begin_wait(), "notified");
        flag.end_wait();
        assert!(flag.begin_wait());
        assert!(flag.notify(), "a thread waits");
        assert!(!flag.notify(), "it is awake already");
        flag.end_wait();
        assert!(flag.begin_wait());
    }
}
