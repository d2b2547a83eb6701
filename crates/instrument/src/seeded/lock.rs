//! `std`'s lock and condition variable for the threads of a run: a wait blocks the thread of the run, and not the thread of the system.
//!
//! Outside a run there is a single thread, which finds each lock free.

use core::ops::{Deref, DerefMut};
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::{self, Arc, LockResult, PoisonError, TryLockError, TryLockResult};

use super::clock;
use super::wait::Waiter;

/// The waits, in their order. The lock is never held across a step.
#[derive(Debug, Default)]
struct Waiters(sync::Mutex<VecDeque<Arc<Waiter>>>);

impl Waiters {
    const fn new() -> Self {
        Self(sync::Mutex::new(VecDeque::new()))
    }

    fn list(&self) -> sync::MutexGuard<'_, VecDeque<Arc<Waiter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self) -> Arc<Waiter> {
        let waiter = Waiter::new();
        self.list().push_back(waiter.clone());
        waiter
    }

    fn remove(&self, waiter: &Arc<Waiter>) {
        self.list().retain(|other| !Arc::ptr_eq(other, waiter));
    }

    /// Ends the first unfinished wait; returns whether there was any.
    fn wake(&self) -> bool {
        loop {
            let Some(first) = self.list().pop_front() else { return false };
            if first.wake() {
                return true;
            }
        }
    }
}

/// A lock.
#[derive(Debug, Default)]
pub struct Mutex<T> {
    value: sync::Mutex<T>,
    waiters: Waiters,
}

/// The guard of a [`Mutex`].
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    /// `None` while it is dropped.
    guard: Option<sync::MutexGuard<'a, T>>,
    lock: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    /// Creates a lock around a value.
    pub const fn new(value: T) -> Self {
        Self { value: sync::Mutex::new(value), waiters: Waiters::new() }
    }

    /// Waits for the lock and takes it.
    ///
    /// # Errors
    /// Never: the signature is `std`'s.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        loop {
            if let Ok(guard) = self.try_lock() {
                return Ok(guard);
            }
            let waiter = self.waiters.add();
            waiter.block();
            self.waiters.remove(&waiter);
        }
    }

    /// Takes the lock unless another thread has it.
    ///
    /// # Errors
    /// If another thread has it. Poison has no meaning here: the lock above it has none.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let guard = match self.value.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
        };
        Ok(MutexGuard { guard: Some(guard), lock: self })
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.guard = None;
        // Another thread may take the lock before the woken thread runs.
        self.lock.waiters.wake();
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_deref().expect("it is not dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_deref_mut().expect("it is not dropped")
    }
}

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar(Waiters);

impl Condvar {
    /// Creates a condition variable without waiters.
    pub const fn new() -> Self {
        Self(Waiters::new())
    }

    /// Releases the lock until notified.
    ///
    /// # Errors
    /// Never: the signature is `std`'s.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        Ok(self.wait_with(guard, None))
    }

    /// Releases the lock until notified, or until the timeout has passed.
    ///
    /// # Errors
    /// Never: the signature is `std`'s.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        Ok((self.wait_with(guard, Some(timeout)), ()))
    }

    #[track_caller]
    fn wait_with<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> MutexGuard<'a, T> {
        let lock = guard.lock;
        let waiter = self.0.add();
        let deadline = timeout.and_then(|timeout| clock::set(timeout, &waiter));
        drop(guard);
        // Once: it may be woken for no reason.
        waiter.block();
        if let Some(deadline) = deadline {
            clock::forget(deadline);
        }
        self.0.remove(&waiter);
        let Ok(guard) = lock.lock() else { unreachable!("there is no poison") };
        guard
    }

    /// Wakes a waiting thread.
    pub fn notify_one(&self) {
        self.0.wake();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        while self.0.wake() {}
    }
}

/// A write-once cell. Of several threads that want the value, the first makes it and the others wait.
#[derive(Debug)]
pub struct OnceLock<T> {
    value: sync::OnceLock<T>,
    lock: Mutex<()>,
}

impl<T> OnceLock<T> {
    /// Creates a cell without a value.
    pub const fn new() -> Self {
        Self { value: sync::OnceLock::new(), lock: Mutex::new(()) }
    }

    /// Returns the value, if the cell has it.
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Takes the value out.
    pub fn take(&mut self) -> Option<T> {
        self.value.take()
    }

    /// Sets the value.
    ///
    /// # Errors
    /// The value, if the cell has it already.
    pub fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)
    }

    /// Returns the value, which `make` makes if there is none.
    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        super::step();
        if self.value.get().is_none() {
            let _guard = self.lock.lock();
            if self.value.get().is_none() {
                _ = self.value.set(make());
            }
        }
        self.value.get().expect("it was set")
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}
