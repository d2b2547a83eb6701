//! The atomic types, their orderings and [`fence`].
//!
//! Under `--cfg brigade_loom` they are loom's own. Otherwise each wraps the type of `core` and has the same methods: a
//! type of its own, so that a lint can reject `core`'s elsewhere.
//!
//! On a target without 64-bit atomics [`AtomicU64`] wraps the type of the crate `portable-atomic`, which has a lock there: it needs
//! the feature of that name. For tests `--cfg brigade_portable` does the same. Narrower atomics would be faster there, but positions of 16 bits can wrap
//! while a thread is preempted between its load and its compare-exchange, which would then succeed wrongly.

#[cfg(not(brigade_loom))]
pub use core::sync::atomic::Ordering;
#[cfg(brigade_loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(not(brigade_loom))]
use crate::delays::delay;

/// Orders the operations before it against those after it; see [`core::sync::atomic::fence`].
#[cfg(not(brigade_loom))]
#[inline(always)]
#[cfg_attr(brigade_seeded, track_caller)]
pub fn fence(order: Ordering) {
    core::sync::atomic::fence(order);
    delay();
}

/// Calls `delay` after an operation; empty without `--cfg brigade_delays`.
#[cfg(not(brigade_loom))]
#[inline(always)]
#[cfg_attr(brigade_seeded, track_caller)]
fn then_delay<R>(result: R) -> R {
    delay();
    result
}

/// The types that are wrapped.
#[cfg(not(brigade_loom))]
mod base {
    #[cfg(all(
        target_has_atomic = "64",
        not(all(brigade_portable, feature = "portable-atomic"))
    ))]
    pub(super) use core::sync::atomic::AtomicU64;
    pub(super) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize};
    #[cfg(all(
        any(not(target_has_atomic = "64"), brigade_portable),
        feature = "portable-atomic"
    ))]
    pub(super) use portable_atomic::AtomicU64;
}

/// Defines a wrapper of one of these types, with the methods that every atomic type has.
#[cfg(not(brigade_loom))]
macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident $(<$parameter:ident>)?, $value:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name $(<$parameter>)? (base::$name $(<$parameter>)?);

        impl $(<$parameter>)? $name $(<$parameter>)? {
            /// Creates an atomic with this value.
            #[inline(always)]
            pub const fn new(value: $value) -> Self {
                Self(base::$name::new(value))
            }

            /// Loads the value.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn load(&self, order: Ordering) -> $value {
                then_delay(self.0.load(order))
            }

            /// Stores a value.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
                delay();
            }

            /// Stores a value and returns the previous one.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                then_delay(self.0.swap(value, order))
            }

            /// Stores `new` if the value is `current`; returns the previous value.
            ///
            /// # Errors
            /// The value, if it was not `current`.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                then_delay(self.0.compare_exchange(current, new, success, failure))
            }

            /// Like [`compare_exchange`](Self::compare_exchange), but may fail spuriously.
            ///
            /// # Errors
            /// The value, if `new` was not stored.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                then_delay(self.0.compare_exchange_weak(current, new, success, failure))
            }

            /// Returns a pointer to the value.
            #[inline(always)]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }
        }
    };
}

/// Defines an integer type, with its arithmetic.
#[cfg(not(brigade_loom))]
macro_rules! integer {
    ($name:ident, $value:ty) => {
        atomic!(
            /// An integer that threads can share.
            $name,
            $value
        );

        impl $name {
            /// Adds, wrapping around; returns the previous value.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn fetch_add(&self, more: $value, order: Ordering) -> $value {
                then_delay(self.0.fetch_add(more, order))
            }

            /// Subtracts, wrapping around; returns the previous value.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn fetch_sub(&self, less: $value, order: Ordering) -> $value {
                then_delay(self.0.fetch_sub(less, order))
            }

            /// Stores the larger of the value and `other`; returns the previous value.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn fetch_max(&self, other: $value, order: Ordering) -> $value {
                then_delay(self.0.fetch_max(other, order))
            }

            /// Stores the smaller of the value and `other`; returns the previous value.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn fetch_min(&self, other: $value, order: Ordering) -> $value {
                then_delay(self.0.fetch_min(other, order))
            }

            /// Sets bits; returns the previous value.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                then_delay(self.0.fetch_or(bits, order))
            }

            /// Clears all bits but these; returns the previous value.
            #[inline(always)]
            #[cfg_attr(brigade_seeded, track_caller)]
            pub fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                then_delay(self.0.fetch_and(bits, order))
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
}

#[cfg(not(brigade_loom))]
mod types {
    use super::{Ordering, base, delay, then_delay};

    integer!(AtomicU8, u8);
    integer!(AtomicU32, u32);
    integer!(AtomicU64, u64);
    integer!(AtomicUsize, usize);
    atomic!(
        /// A flag that threads can share.
        AtomicBool,
        bool
    );
    atomic!(
        /// A pointer that threads can share; its target is not shared by that.
        AtomicPtr<T>,
        *mut T
    );
}
#[cfg(not(brigade_loom))]
pub use types::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
