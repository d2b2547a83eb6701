//! Locks and counters that the model checker does not see.
//!
//! The model checker explores every order of the steps it sees, so each lock that a model passes without need multiplies its
//! run time. These types are the ones of this crate, except under the model checker: there they are `std`'s, which make no
//! step. What a model must prove must not depend on them: no wait and no wake-up.

#[cfg(not(brigade_loom))]
pub use crate::atomic::{AtomicBool, AtomicU64, AtomicUsize};
#[cfg(not(brigade_loom))]
pub use crate::lock::{Mutex, MutexGuard};
/// Thread-locals, which to the model checker are those of one thread.
#[cfg(brigade_seeded)]
pub use brigade_instrument::seeded::{thread::LocalKey, thread_local};
#[cfg(brigade_loom)]
pub use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
#[cfg(brigade_loom)]
pub use std::sync::MutexGuard;
/// Thread-locals, which to the model checker are those of one thread.
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
}
