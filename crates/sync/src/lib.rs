//! The floor of brigade: what every other crate of the house stands on.
//!
//! - [`atomic`], [`cell`], [`hint`], and with the feature `std` [`Mutex`], [`Condvar`], [`thread`]: the
//!   names of `std`, which `--cfg brigade_loom` exchanges for those of the model checker `loom`;
//! - [`CachePadded`] keeps what two threads write on two cache lines;
//! - [`Parker`] is what a thread sleeps on: one word, a futex where there is one; [`ParkerGroup`] is the same for 32
//!   threads, of whom one system call wakes any choice;
//! - [`ScopedKey`] is a thread-local reference that lives as long as a call;
//! - [`affinity`] says on which CPUs a thread may run;
//! - [`fork`] tells a process that it is a child, and holds what each process has of its own.
//!
//! What this crate is not: a place for policy. It knows no queue, no job and no pool.
#![cfg_attr(not(feature = "std"), no_std)]
// This is the crate that wraps what the others may not name.
#![allow(clippy::disallowed_types)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "brigade needs 64-bit atomics: its positions may not wrap inside one preempted step"
);

extern crate alloc;

pub mod atomic;
mod cache_padded;
pub mod cell;

#[cfg(brigade_loom)]
pub mod model;

#[cfg(feature = "std")]
pub mod affinity;
#[cfg(feature = "std")]
pub mod fork;
#[cfg(feature = "std")]
mod lock;
#[cfg(feature = "std")]
mod parker;
#[cfg(feature = "std")]
mod scoped_key;
#[cfg(feature = "std")]
pub mod thread;
#[cfg(feature = "std")]
pub mod unseen;

pub use cache_padded::CachePadded;
#[cfg(feature = "std")]
pub use lock::{Condvar, Mutex, MutexGuard};
/// Thread-locals of a model's threads, which to `std` are all one.
#[cfg(all(feature = "std", brigade_loom))]
pub use loom::thread_local;
#[cfg(feature = "std")]
pub use parker::{Parker, ParkerGroup};
#[cfg(feature = "std")]
pub use scoped_key::{ScopedKey, ScopedSlot};

/// What a thread tells the processor, or the model checker, while it waits for another.
pub mod hint {
    /// Lets the other side run: a pause on hardware, a switch under the model checker.
    #[inline]
    pub fn spin_loop() {
        #[cfg(brigade_loom)]
        loom::thread::yield_now();
        #[cfg(not(brigade_loom))]
        core::hint::spin_loop();
    }

    /// Keeps away from a line that another thread is busy with, longer at each call: 2^6 pauses, half a
    /// microsecond or more, to 2^8. Never gives the processor away.
    ///
    /// `round` counts the calls and starts at 0.
    #[cold]
    #[inline(never)]
    pub fn back_off(round: u32) {
        let pauses = if cfg!(brigade_loom) { 1 } else { 1 << (6 + round).min(8) };
        for _ in 0..pauses {
            spin_loop();
        }
    }

    /// Waits a little longer at each call: pauses first, then gives the processor away.
    ///
    /// `round` counts the calls and starts at 0. Without the feature `std` there is nobody to give
    /// the processor to, and it only pauses.
    #[inline]
    pub fn snooze(round: u32) {
        /// Rounds of pausing, each twice as long: 2^6 pauses are about a microsecond. A preempted
        /// peer needs the processor more than we do, so that is all the patience there is.
        const PAUSE_ROUNDS: u32 = 6;
        if round <= PAUSE_ROUNDS && cfg!(not(brigade_loom)) {
            for _ in 0..1_u32 << round {
                spin_loop();
            }
            return;
        }
        #[cfg(all(feature = "std", not(brigade_loom)))]
        std::thread::yield_now();
        #[cfg(any(not(feature = "std"), brigade_loom))]
        spin_loop();
    }
}
