//! Locks without poison: no user code runs under a lock of brigade, so a panic never leaves data half-changed.

use core::time::Duration;

#[cfg(brigade_seeded)]
use brigade_instrument::seeded::lock as imp;
#[cfg(brigade_loom)]
use loom::sync as imp;
#[cfg(not(any(brigade_loom, brigade_seeded)))]
use std::sync as imp;
// The others' locks return it too.
use std::sync::TryLockError;

use crate::step;

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = imp::MutexGuard<'a, T>;

/// A lock without poison: [`lock`](Self::lock) can't fail.
///
/// ```
/// let count = brigade_sync::Mutex::new(1);
/// *count.lock() += 1;
/// assert_eq!(*count.lock(), 2);
/// ```
#[derive(Debug, Default)]
pub struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a lock around a value.
    pub fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Waits for the lock and takes it.
    // Not inlined: the code for std's poison would stand in a program at each call.
    #[inline(never)]
    #[cfg_attr(brigade_seeded, track_caller)]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        step();
        match self.0.lock() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        }
    }

    /// Takes the lock unless another thread has it.
    ///
    /// ```
    /// let count = brigade_sync::Mutex::new(1);
    /// let guard = count.try_lock();
    /// assert!(guard.is_some() && count.try_lock().is_none());
    /// ```
    #[cfg_attr(brigade_seeded, track_caller)]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        step();
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A condition variable for a [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(imp::Condvar);

impl Condvar {
    /// Creates a condition variable without waiters.
    pub fn new() -> Self {
        Self(imp::Condvar::new())
    }

    /// Releases the lock until notified, or until `timeout` has passed, if given.
    ///
    /// As with any condition variable, wake-ups may be spurious: test the condition again. The model checker has no
    /// clock; there a wait with a timeout returns at once.
    #[cfg_attr(brigade_seeded, track_caller)]
    pub fn wait<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> MutexGuard<'a, T> {
        step();
        match timeout {
            None => match self.0.wait(guard) {
                Ok(guard) => guard,
                Err(poisoned) => poisoned.into_inner(),
            },
            #[cfg(brigade_loom)]
            Some(_) => guard,
            #[cfg(not(brigade_loom))]
            Some(timeout) => match self.0.wait_timeout(guard, timeout) {
                Ok((guard, _)) => guard,
                Err(poisoned) => poisoned.into_inner().0,
            },
        }
    }

    /// Wakes a waiting thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes every waiting thread.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
