//! Locks and counts that no model looks into.
//!
//! The model checker walks every order of the steps of what it sees, so each lock that a model passes and does not need
//! multiplies the time that it takes. What is here is as elsewhere in this crate, except under the model checker: there it
//! is `std`'s, which makes no step. Nothing may rest on it that a model is to prove: what waits, and what must not be missed.

#[cfg(not(brigade_loom))]
pub use crate::atomic::{AtomicU64, AtomicUsize};
#[cfg(not(brigade_loom))]
pub use crate::lock::{Mutex, MutexGuard};
#[cfg(brigade_loom)]
pub use core::sync::atomic::{AtomicU64, AtomicUsize};
#[cfg(brigade_loom)]
pub use std::sync::MutexGuard;

/// A lock whose guard is always there to be had.
#[cfg(brigade_loom)]
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

#[cfg(brigade_loom)]
impl<T> Mutex<T> {
    /// Puts a value behind a lock.
    pub fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the lock and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
