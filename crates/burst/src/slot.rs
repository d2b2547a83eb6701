//! A slot for a value on the way between two threads.
//!
//! The states, and their transitions:
//!
//! ```text
//! EMPTY -> FILLING    by an exchange, so by one putting thread
//! FILLING -> FULL     by the same thread, when the value is written
//! FULL -> TAKING      by an exchange, so by one taking thread
//! TAKING -> EMPTY     by the same thread, when the value is read
//! ```
//!
//! **Claim rule.** From `EMPTY -> FILLING` to `FILLING -> FULL`, and from `FULL -> TAKING` to `TAKING -> EMPTY`, the
//! cell belongs to the thread that made the first of the two steps. In `FULL` it holds a value, in `EMPTY` none.
//!
//! No user code runs between the two steps: the value is copied bitwise. So each claim is a few instructions long, and can't
//! unwind.
#![allow(
    unsafe_code,
    reason = "the cell from which values are moved; the rest of the crate has none"
)]

use core::mem::MaybeUninit;
use core::panic::{RefUnwindSafe, UnwindSafe};

use brigade_sync::atomic::{AtomicU8, Ordering};
use brigade_sync::cell::UnsafeCell;

const EMPTY: u8 = 0;
const FILLING: u8 = 1;
const FULL: u8 = 2;
const TAKING: u8 = 3;

/// Holds a value on the way between two threads, or none.
///
/// Never blocks. A value in it is dropped with it.
pub(crate) struct Slot<T> {
    /// The state: any of the four.
    state: AtomicU8,
    /// The value (Claim rule).
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: Claim rule; a shared slot moves values between threads and never shares one, so `T: Send` is enough.
unsafe impl<T: Send> Sync for Slot<T> {}

// No user code runs inside a claim, so a panic finds the slot consistent.
impl<T> UnwindSafe for Slot<T> {}
impl<T> RefUnwindSafe for Slot<T> {}

impl<T> Slot<T> {
    /// Creates an empty slot.
    pub(crate) fn new() -> Self {
        Self { state: AtomicU8::new(EMPTY), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Puts a value in.
    ///
    /// Everything before this call happens before the value is taken.
    ///
    /// # Errors
    /// The value, if the slot is not empty or another thread is using it.
    #[inline]
    pub(crate) fn put(&self, value: T) -> Result<(), T> {
        // Ordering: Acquire pairs with the Release at the end of `take`: the former value has been read.
        if self
            .state
            .compare_exchange(EMPTY, FILLING, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            return Err(value);
        }
        self.value.with_mut(|cell| {
            // SAFETY: Claim rule; the exchange above claimed the cell.
            let cell = unsafe { &mut *cell };
            cell.write(value);
        });
        // Ordering: Release hands the value over to the Acquire in `take`.
        self.state.store(FULL, Ordering::Release);
        Ok(())
    }

    /// Takes the value; `None` if the slot is empty or another thread is using it.
    #[inline]
    pub(crate) fn take(&self) -> Option<T> {
        // The load before the exchange keeps the cache line shared while a thread spins.
        if !self.is_full()
            // Ordering: Acquire pairs with the Release in `put`.
            || self.state.compare_exchange(FULL, TAKING, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return None;
        }
        let value = self.value.with(|cell| {
            // SAFETY: Claim rule; the exchange above claimed the cell, and it is read once.
            unsafe { cell.read() }
        });
        // SAFETY: Claim rule; in `FULL` the cell holds a value.
        let value = unsafe { value.assume_init() };
        // Ordering: Release pairs with the Acquire in `put`.
        self.state.store(EMPTY, Ordering::Release);
        Some(value)
    }

    /// Returns whether the slot holds a value. A hint: another thread may take it first.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        // Ordering: Relaxed: a hint.
        self.state.load(Ordering::Relaxed) == FULL
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_slot_holds_one_value() {
        let slot = Slot::new();
        assert_eq!(slot.put("job"), Ok(()));
        assert_eq!(slot.put("another"), Err("another"));
        assert!(slot.is_full());
        assert_eq!(slot.take(), Some("job"));
        assert_eq!(slot.take(), None);
    }

    #[test]
    fn a_held_value_drops_once_with_the_slot() {
        let value = Arc::new(());
        let slot = Slot::new();
        slot.put(value.clone()).unwrap();
        assert_eq!(Arc::strong_count(&value), 2);
        drop(slot);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn a_taken_value_does_not_drop_with_the_slot() {
        let value = Arc::new(());
        let slot = Slot::new();
        slot.put(value.clone()).unwrap();
        let taken = slot.take();
        drop(slot);
        assert_eq!(Arc::strong_count(&value), 2);
        drop(taken);
    }

    #[test]
    fn zero_sized_and_overaligned_values_pass() {
        #[repr(align(128))]
        #[derive(Debug, PartialEq)]
        struct Wide(u8);
        let (nothing, wide) = (Slot::new(), Slot::new());
        nothing.put(()).unwrap();
        assert_eq!(nothing.take(), Some(()));
        wide.put(Wide(7)).unwrap();
        assert_eq!(wide.take(), Some(Wide(7)));
    }

    #[test]
    fn each_value_passes_two_putters_and_takers() {
        const EACH: usize = 20_000;
        let slot = Slot::new();
        let taken: usize = std::thread::scope(|scope| {
            let putters = [0, 1].map(|_| {
                let slot = &slot;
                scope.spawn(move || {
                    for _ in 0..EACH {
                        while slot.put(1).is_err() {
                            std::thread::yield_now();
                        }
                    }
                })
            });
            let takers = [0, 1].map(|_| {
                let slot = &slot;
                scope.spawn(move || {
                    let mut taken = 0;
                    while taken < EACH {
                        taken += slot.take().unwrap_or_else(|| {
                            std::thread::yield_now();
                            0
                        });
                    }
                    taken
                })
            });
            putters.into_iter().for_each(|putter| putter.join().unwrap());
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!(taken, 2 * EACH);
        assert!(slot.take().is_none());
    }
}
