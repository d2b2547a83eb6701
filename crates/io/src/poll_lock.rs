//! The right to poll the operating system, for a single thread at a time.

use brigade_sync::atomic::{AtomicBool, Ordering};

/// A try-lock: a second thread need not wait for it.
#[derive(Debug, Default)]
pub(crate) struct PollLock(AtomicBool);

/// Held while a thread polls; releases the lock when dropped.
#[derive(Debug)]
pub(crate) struct PollGuard<'a>(&'a PollLock);

impl PollLock {
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<PollGuard<'_>> {
        // Ordering: Acquire pairs with the Release of the guard before, whose use of the wake flag has ended then. Relaxed on
        // failure, which leads to nothing.
        let locked = self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        // Not `then_some`: a guard made on failure would release the lock of another thread.
        locked.is_ok().then(|| PollGuard(self))
    }

    #[inline]
    pub(crate) fn is_locked(&self) -> bool {
        // Ordering: Relaxed, as the answer may be outdated when the caller has it.
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for PollGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Ordering: Release pairs with the Acquire in `try_lock`.
        self.0.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_try_does_not_release_the_lock() {
        let lock = PollLock::default();
        let guard = lock.try_lock();
        assert!(guard.is_some());
        assert!(lock.try_lock().is_none());
        assert!(lock.try_lock().is_none(), "still");
        assert!(lock.is_locked());
        drop(guard);
        assert!(!lock.is_locked() && lock.try_lock().is_some());
    }
}
