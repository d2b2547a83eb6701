//! The atomic types: those of `core`, each operation of which is followed by a [`step`].

use core::sync::atomic as base;
pub use core::sync::atomic::Ordering;

use crate::step;

/// Orders the operations before it against those after it; see [`core::sync::atomic::fence`].
#[inline(always)]
#[track_caller]
pub fn fence(order: Ordering) {
    base::fence(order);
    step();
}

/// Makes a step after an operation.
#[inline(always)]
#[track_caller]
fn then_step<R>(result: R) -> R {
    step();
    result
}

/// Defines a wrapper of one of these types, with the methods common to all atomic types.
macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident $(<$parameter:ident>)?, $value:ty) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
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
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                then_step(self.0.load(order))
            }

            /// Stores a value.
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
                step();
            }

            /// Stores a value and returns the previous one.
            #[inline(always)]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                then_step(self.0.swap(value, order))
            }

            /// Stores `new` if the value is `current`; returns the previous value.
            ///
            /// # Errors
            /// The value, if it was not `current`.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                then_step(self.0.compare_exchange(current, new, success, failure))
            }

            /// Like [`compare_exchange`](Self::compare_exchange), but may fail spuriously.
            ///
            /// # Errors
            /// The value, if `new` was not stored.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                then_step(self.0.compare_exchange_weak(current, new, success, failure))
            }

            /// Stores the result of `next` for the value, again until no other thread changes the value in between; returns the
            /// previous value.
            ///
            /// # Errors
            /// The value, if `next` returned `None` for it.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut next: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                // Not `core`'s method: there is a step after the load and after each exchange.
                let mut current = self.load(failure);
                while let Some(new) = next(current) {
                    match self.compare_exchange_weak(current, new, success, failure) {
                        Ok(before) => return Ok(before),
                        Err(now) => current = now,
                    }
                }
                Err(current)
            }

            /// Returns a pointer to the value.
            #[inline(always)]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }
        }
    };
}

/// Defines an integer type, with arithmetic.
macro_rules! integer {
    ($name:ident, $value:ty) => {
        atomic!(
            /// An integer shared by threads.
            $name,
            $value
        );

        impl $name {
            /// Adds, wrapping around; returns the previous value.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_add(&self, more: $value, order: Ordering) -> $value {
                then_step(self.0.fetch_add(more, order))
            }

            /// Subtracts, wrapping around; returns the previous value.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_sub(&self, less: $value, order: Ordering) -> $value {
                then_step(self.0.fetch_sub(less, order))
            }

            /// Stores the larger of the value and `other`; returns the previous value.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_max(&self, other: $value, order: Ordering) -> $value {
                then_step(self.0.fetch_max(other, order))
            }

            /// Stores the smaller of the value and `other`; returns the previous value.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_min(&self, other: $value, order: Ordering) -> $value {
                then_step(self.0.fetch_min(other, order))
            }

            /// Sets bits; returns the previous value.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                then_step(self.0.fetch_or(bits, order))
            }

            /// Clears all bits but these; returns the previous value.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                then_step(self.0.fetch_and(bits, order))
            }
        }
    };
}

integer!(AtomicU8, u8);
integer!(AtomicU32, u32);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);
atomic!(
    /// A flag shared by threads.
    AtomicBool,
    bool
);
atomic!(
    /// A pointer shared by threads; the target is not shared by it.
    AtomicPtr<T>,
    *mut T
);
