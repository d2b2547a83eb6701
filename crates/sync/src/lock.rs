//! Locks without poison: no user code runs under a lock of brigade, so none can panic there.

use core::time::Duration;

#[cfg(brigade_loom)]
use loom::sync as imp;
#[cfg(not(brigade_loom))]
use std::sync as imp;

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = imp::MutexGuard<'a, T>;

/// A lock whose guard is always there to be had.
///
/// ```
/// let count = brigade_sync::Mutex::new(1);
/// *count.lock() += 1;
/// assert_eq!(*count.lock(), 2);
/// ```
#[derive(Debug)]
pub struct Mutex<T>(imp::Mutex<T>);

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Mutex<T> {
    /// Puts a value behind a lock.
    pub fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Waits for the lock and takes it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self.0.lock() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

/// What a thread waits on under a [`Mutex`].
#[derive(Debug)]
pub struct Condvar(imp::Condvar);

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl Condvar {
    /// Makes one that nobody waits on.
    pub fn new() -> Self {
        Self(imp::Condvar::new())
    }

    /// Gives the lock away until notified, or until `timeout` has passed if there is one.
    ///
    /// Like any condition variable it may return early: test the condition again. The model
    /// checker has no clock; there a wait with a timeout does not wait.
    pub fn wait<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> MutexGuard<'a, T> {
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

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes every thread that waits.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
