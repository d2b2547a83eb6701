//! Locks and counters hidden from the model checker.
//!
//! The model checker explores every order of the steps it sees, so each needless lock in a model multiplies the run time.
//! These types are this crate's, except under the model checker: there they are `std`'s, which make no step. No wait and no
//! wake-up that a model proves may depend on them.

#[cfg(not(brigade_loom))]
pub use crate::atomic::{AtomicBool, AtomicU64, AtomicUsize};
#[cfg(not(brigade_loom))]
pub use crate::lock::{Mutex, MutexGuard};
/// Thread-locals, shared by all threads of a model.
#[cfg(brigade_seeded)]
pub use brigade_instrument::seeded::local::{LocalKey, thread_local};
#[cfg(brigade_loom)]
pub use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
#[cfg(brigade_loom)]
pub use std::sync::MutexGuard;
/// Thread-locals, shared by all threads of a model.
#[cfg(not(brigade_seeded))]
pub use std::{thread::LocalKey, thread_local};

/// A lock without poison.
#[cfg(brigade_loom)]
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

#[cfg(brigade_loom)]
impl<T> Mutex<T> {
    /// Creates a lock around a value.
    pub fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the lock and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes the lock unless another thread has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}
