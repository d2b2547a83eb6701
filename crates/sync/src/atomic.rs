//! The atomic types, their orderings and [`fence`]: those of `core`.
//!
//! Under `--cfg brigade_loom` they are loom's, and in instrumented builds the types of `brigade-instrument`. Each user
//! says `brigade_sync::atomic`, so the three have the same name; `ci/imports.sh` rejects `core`'s elsewhere.
//!
//! On a target without 64-bit atomics `AtomicU64` is the type of the crate `portable-atomic`, which has a lock there: it needs
//! the feature of the same name. For tests `--cfg brigade_portable` does the same. Narrower atomics would be faster there, but positions
//! of 16 bits can wrap while a thread is preempted between its load and its compare-exchange, and the exchange would then succeed
//! wrongly.

#[cfg(brigade_loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(all(any(brigade_delays, brigade_seeded), not(brigade_loom)))]
pub use brigade_instrument::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(not(any(brigade_loom, brigade_delays, brigade_seeded)))]
pub use self::plain::*;

#[cfg(not(any(brigade_loom, brigade_delays, brigade_seeded)))]
mod plain {
    #[cfg(all(
        target_has_atomic = "64",
        not(all(brigade_portable, feature = "portable-atomic"))
    ))]
    pub use core::sync::atomic::AtomicU64;
    pub use core::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering, fence,
    };
    #[cfg(all(
        any(not(target_has_atomic = "64"), brigade_portable),
        feature = "portable-atomic"
    ))]
    pub use portable_atomic::AtomicU64;
}
