//! A bounded ring that one thread owns and others steal from; the claims are in [`order`].
//!
//! What it is not: growable. A full ring gives the item back, and the caller has an injector for it.

mod order;
mod owner;
mod thief;

use alloc::boxed::Box;
use core::mem::MaybeUninit;

use brigade_sync::cell::UnsafeCell;

use order::Claim;
pub use order::{Fifo, Lifo, Order, StealError};
pub use owner::Worker;
pub use thief::Stealer;

/// How much of a queue a thief takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Half of what is there, rounded up.
    Half,
    /// This many items, or all if there are fewer; none if it is 0.
    AtMost(usize),
}

impl Limit {
    fn of(self, count: u32) -> u32 {
        match self {
            Self::Half => count - count / 2,
            Self::AtMost(most) => count.min(u32::try_from(most).unwrap_or(u32::MAX)),
        }
    }
}

/// The slots of a ring and the positions in it.
struct Ring<T, O> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    order: O,
}

// SAFETY: items move between threads, which `T: Send` allows, and are never shared; slots are reached by
// the Claim rule alone.
unsafe impl<T: Send, O: Send> Send for Ring<T, O> {}
// SAFETY: as above; the owner's methods are kept to one thread by `Worker`, which is not `Sync`.
unsafe impl<T: Send, O: Sync> Sync for Ring<T, O> {}

impl<T, O: Order> Ring<T, O> {
    #[inline(always)]
    fn slot(&self, position: u32) -> &UnsafeCell<MaybeUninit<T>> {
        // SAFETY: there is at least one slot and their number is a power of two (`Worker::new`), so the
        // masked position is one of them. Unchecked, because a check that could unwind here would keep the
        // item that is about to be written in memory instead of in registers.
        unsafe { self.slots.get_unchecked(position as usize & (self.slots.len() - 1)) }
    }

    #[inline(always)]
    fn capacity(&self) -> u32 {
        // At most 2^31 (`Worker::new`).
        self.slots.len() as u32
    }

    /// Moves an item out.
    ///
    /// # Safety
    /// The position is claimed by the caller (Claim rule), and is read once.
    #[inline(always)]
    unsafe fn read(&self, position: u32) -> T {
        self.slot(position).with(|slot| {
            // SAFETY: Claim rule, by the caller; it was written before it was published.
            unsafe { slot.cast::<T>().read() }
        })
    }

    /// Moves an item in.
    ///
    /// # Safety
    /// The caller is the owner, and the position is vacant and not yet published.
    #[inline(always)]
    unsafe fn write(&self, position: u32, item: T) {
        self.slot(position).with_mut(|slot| {
            // SAFETY: the position is vacant, by the caller: nobody else reads or writes it.
            unsafe { slot.cast::<T>().write(item) }
        });
    }

    /// Moves a whole claim out, gives each item to `take` in order, and releases it.
    ///
    /// `take` must not panic and must not be user code.
    fn take(&self, claim: &Claim, mut take: impl FnMut(T)) {
        for offset in 0..claim.count {
            // SAFETY: Claim rule; the claim is ours until `release` below.
            take(unsafe { self.read(claim.start.wrapping_add(offset)) });
        }
        self.order.release(claim);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests;
