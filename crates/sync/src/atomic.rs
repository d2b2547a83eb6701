//! The atomic types, their orderings and [`fence`].
//!
//! Under `--cfg brigade_loom` they are loom's own. Otherwise each is a type around that of `core`, with
//! the same methods: a type of its own, so that a lint can tell who reached past this crate.

#[cfg(not(brigade_loom))]
pub use core::sync::atomic::{Ordering, fence};
#[cfg(brigade_loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

/// Defines a type around one of `core`, with the methods that every atomic type has.
#[cfg(not(brigade_loom))]
macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident $(<$parameter:ident>)?, $value:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name $(<$parameter>)? (core::sync::atomic::$name $(<$parameter>)?);

        impl $(<$parameter>)? $name $(<$parameter>)? {
            /// Makes one with this value.
            #[inline(always)]
            pub const fn new(value: $value) -> Self {
                Self(core::sync::atomic::$name::new(value))
            }

            /// Reads the value.
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            /// Writes the value.
            #[inline(always)]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            /// Writes the value and returns the one before.
            #[inline(always)]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.0.swap(value, order)
            }

            /// Writes `new` if the value is `current`; returns what the value was, `Err` if it was another.
            ///
            /// # Errors
            /// The value, if it was not `current`.
            #[inline(always)]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Like [`compare_exchange`](Self::compare_exchange), and may fail for no reason.
            ///
            /// # Errors
            /// The value, if it was not written.
            #[inline(always)]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange_weak(current, new, success, failure)
            }

            /// Where the value lies.
            #[inline(always)]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }
        }
    };
}

/// Adds the arithmetic of an integer type.
#[cfg(not(brigade_loom))]
macro_rules! integer {
    ($name:ident, $value:ty) => {
        atomic!(
            /// An integer that threads may share.
            $name,
            $value
        );

        impl $name {
            /// Adds, wrapping around; returns the value before.
            #[inline(always)]
            pub fn fetch_add(&self, more: $value, order: Ordering) -> $value {
                self.0.fetch_add(more, order)
            }

            /// Subtracts, wrapping around; returns the value before.
            #[inline(always)]
            pub fn fetch_sub(&self, less: $value, order: Ordering) -> $value {
                self.0.fetch_sub(less, order)
            }

            /// Writes the larger of the value and this; returns the value before.
            #[inline(always)]
            pub fn fetch_max(&self, other: $value, order: Ordering) -> $value {
                self.0.fetch_max(other, order)
            }

            /// Sets bits; returns the value before.
            #[inline(always)]
            pub fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                self.0.fetch_or(bits, order)
            }

            /// Keeps bits; returns the value before.
            #[inline(always)]
            pub fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                self.0.fetch_and(bits, order)
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
    use super::Ordering;

    integer!(AtomicU8, u8);
    integer!(AtomicU32, u32);
    integer!(AtomicU64, u64);
    integer!(AtomicUsize, usize);
    atomic!(
        /// A flag that threads may share.
        AtomicBool,
        bool
    );
    atomic!(
        /// A pointer that threads may share; what it points to is another matter.
        AtomicPtr<T>,
        *mut T
    );
}
#[cfg(not(brigade_loom))]
pub use types::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
