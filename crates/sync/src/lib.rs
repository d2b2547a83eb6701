//! The lowest layer of brigade: atomics, locks, threads and parkers, replaceable by a model checker.
//!
//! - [`atomic`], [`cell`], [`hint`], and with the feature `std` [`Mutex`], [`Condvar`], [`OnceLock`], [`thread`], [`time`] and
//!   [`thread_local!`]: the names of `std`, which `--cfg brigade_loom` replaces with those of the model checker `loom`, as far as models
//!   need them;
//! - [`CachePadded`] keeps data that two threads write on separate cache lines;
//! - [`Parker`] blocks a thread: an atomic, and a futex where available; [`ParkerGroup`] blocks up to 32 threads, and one
//!   system call wakes any subset of them;
//! - [`AsymmetricFence`] is a pair of fences whose frequent side costs nothing;
//! - [`call_user`] calls code of the program, whose backtraces end there;
//! - [`Defer`] calls a closure at the end of a scope;
//! - [`Exclusive`] holds a value and is always `Sync`, as references can't reach the value;
//! - [`OwnerEnd`] is the deque's interface for the items in it;
//! - [`ScopedKey`] is a thread-local reference, valid for the length of a call;
//! - [`budget`] limits the operations of a future in a poll, and [`awaited`] notes the operations it waits for;
//! - [`affinity`] gets and sets the CPUs that a thread may run on;
//! - [`fork`] detects a forked child, and holds a value per process;
//! - [`unmodelled`] has locks and counters hidden from the model checker.
//!
//! In tests, `--cfg brigade_delays` and `--cfg brigade_seeded` replace the atomics, locks, threads and the clock by those of
//! `brigade-instrument`: with random delays after their steps, or in an order chosen by a seed (`ci/delays.sh`, `ci/seeded.sh`).
//!
//! # Modules
//!
//! It contains no policy: no queue, no job and no pool.
//!
//! Each module imports only from those below it:
//!
//! ```text
//! parker   model   asymmetric
//! thread
//! budget
//! awaited
//! scoped_key
//! unmodelled
//! lock   atomic
//! hint   time
//! fork   cell   cache_padded   defer   exclusive   owner_end   affinity   backtrace
//! linux
//! ```
// Shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "std"), no_std)]
// This crate wraps the types that the other crates may not name.
#![allow(clippy::disallowed_types)]

#[cfg(not(any(target_has_atomic = "64", feature = "portable-atomic")))]
compile_error!(
    "this target has no 64-bit atomics: enable the feature `portable-atomic` of brigade, brigade-queue or brigade-sync"
);

#[cfg(all(brigade_loom, not(feature = "loom")))]
compile_error!("--cfg brigade_loom needs the feature `loom` of brigade-sync");
#[cfg(all(brigade_seeded, not(all(feature = "seeded", feature = "std"))))]
compile_error!(
    "--cfg brigade_seeded needs the feature `sim` of brigade, or `seeded` and `std` of brigade-sync"
);
#[cfg(all(brigade_delays, not(feature = "delays")))]
compile_error!("--cfg brigade_delays needs the feature `delays` of brigade-sync");

extern crate alloc;

pub mod atomic;
mod backtrace;
pub use backtrace::__rust_begin_short_backtrace as call_user;
mod cache_padded;
pub mod cell;
mod defer;
mod exclusive;
pub mod hint;
mod opaque;
mod owner_end;

#[cfg(brigade_loom)]
pub mod model;
#[cfg(brigade_seeded)]
pub use brigade_instrument::seeded;
/// A step of a test; in other builds it does nothing.
#[cfg(all(any(brigade_delays, brigade_seeded), not(brigade_loom)))]
use brigade_instrument::step;

/// A step of a test, in instrumented builds only.
#[cfg(all(feature = "std", not(all(any(brigade_delays, brigade_seeded), not(brigade_loom)))))]
#[inline(always)]
fn step() {}

#[cfg(feature = "std")]
pub mod affinity;
#[cfg(feature = "std")]
mod asymmetric;
#[cfg(feature = "std")]
pub mod awaited;
#[cfg(feature = "std")]
pub mod budget;
#[cfg(feature = "std")]
pub mod fork;
#[cfg(all(
    feature = "std",
    target_os = "linux",
    all(target_pointer_width = "64", any(target_arch = "aarch64", target_arch = "x86_64"))
))]
mod linux;
#[cfg(all(
    feature = "std",
    target_os = "linux",
    not(all(target_pointer_width = "64", any(target_arch = "aarch64", target_arch = "x86_64")))
))]
use libc as linux;
#[cfg(feature = "std")]
mod lock;
#[cfg(feature = "std")]
mod parker;
#[cfg(feature = "std")]
mod scoped_key;
#[cfg(feature = "std")]
mod stack;
#[cfg(feature = "std")]
pub mod thread;
#[cfg(feature = "std")]
pub mod time;
#[cfg(feature = "std")]
pub mod unmodelled;

#[cfg(feature = "std")]
pub use asymmetric::AsymmetricFence;
#[cfg(brigade_seeded)]
pub use brigade_instrument::seeded::lock::OnceLock;
pub use cache_padded::CachePadded;
pub use defer::Defer;
pub use exclusive::Exclusive;
#[cfg(feature = "std")]
pub use lock::{Condvar, Mutex, MutexGuard};
pub use owner_end::OwnerEnd;
#[cfg(feature = "std")]
pub use parker::{Parker, ParkerGroup};
#[cfg(feature = "std")]
pub use scoped_key::{ScopedKey, ScopedSlot, Visit};
#[cfg(feature = "std")]
pub use stack::Stack;
#[cfg(all(feature = "std", not(brigade_seeded)))]
pub use std::sync::OnceLock;

#[doc(hidden)]
#[cfg(brigade_loom)]
pub use loom::thread_local as loom_thread_local;
/// Declares thread-locals, each with a `const` value; in a model they belong to the model's threads.
///
/// ```
/// use std::cell::Cell;
/// brigade_sync::thread_local! {
///     static LAMP: Cell<u32> = const { Cell::new(7) };
/// }
/// assert_eq!(LAMP.with(Cell::get), 7);
/// ```
#[cfg(all(feature = "std", not(brigade_loom)))]
pub use unmodelled::thread_local;

/// Declares thread-locals of the threads of a model, each with a `const` value.
#[cfg(brigade_loom)]
#[macro_export]
macro_rules! thread_local {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = const { $value:expr };)*) => {
        $crate::loom_thread_local! { $($(#[$attribute])* static $name: $type = $value;)* }
    };
}

/// Tests the examples of the README.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
