//! A bounded ring that one thread owns and others steal from; the claims are in [`positions`].
//!
//! What it is not: growable. A full ring gives the item back, and the caller has an injector for it.

mod drain;
mod into_iter;
mod limit;
mod order;
mod owner;
mod positions;
mod thief;

use alloc::boxed::Box;
use alloc::collections::TryReserveError;
use alloc::sync::Arc;
use core::mem::{self, MaybeUninit};
use core::panic::{RefUnwindSafe, UnwindSafe};

use brigade_sync::cell::{self, UnsafeCell};

pub use drain::Drain;
pub use into_iter::IntoIter;
pub use limit::Limit;
pub use order::Order;
pub(crate) use order::{Fifo, Lifo};
pub use owner::{NewError, Worker};
pub use positions::StealError;
pub use thief::Stealer;

use positions::{Claim, Positions, Words};

/// How often a thief runs for a claim before it says that the ring is busy.
const RACES: u32 = 4;

/// So few items are moved one by one: a block copy costs as much as a handful of them.
const FEW: u32 = 8;

/// The slots of a ring and the positions in it.
struct Ring<T, O: Order> {
    positions: Positions,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    order: core::marker::PhantomData<O>,
}

// SAFETY: items move between threads, which `T: Send` allows, and are never shared; slots are reached by the
// Claim rule alone.
unsafe impl<T: Send, O: Order> Send for Ring<T, O> {}
// SAFETY: as above; the owner's methods are kept to one thread by `Worker`, which is not `Sync`.
unsafe impl<T: Send, O: Order> Sync for Ring<T, O> {}

// No user code runs while positions and slots disagree, so a panic finds a ring as whole as ever.
impl<T, O: Order> UnwindSafe for Ring<T, O> {}
impl<T, O: Order> RefUnwindSafe for Ring<T, O> {}

impl<T, O: Order> Ring<T, O> {
    /// A ring with this many slots, a power of two, whose positions begin at `start`.
    fn try_new(capacity: usize, start: u32) -> Result<Arc<Self>, TryReserveError> {
        let slots = cell::try_uninit_slice(capacity)?;
        let positions = Positions::new::<O>(start);
        Ok(Arc::new(Self { positions, slots, order: core::marker::PhantomData }))
    }

    #[inline(always)]
    fn slot(&self, position: u32) -> &UnsafeCell<MaybeUninit<T>> {
        // SAFETY: there is at least one slot and their number is a power of two (`Worker::try_new`), so the
        // masked position is one of them. Unchecked, because a check that could unwind here would keep the
        // item that is about to be written in memory instead of in registers.
        unsafe { self.slots.get_unchecked(position as usize & (self.slots.len() - 1)) }
    }

    /// Counts the slots: at most 2^31 (`Worker::try_new`).
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn capacity(&self) -> u32 {
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

    /// Claims the oldest items, as many as `pick` says of those that are there.
    ///
    /// Tries again when the owner or a thief has moved on meanwhile; each time somebody got something. After a few
    /// lost races it is `Busy`: an owner of tiny items moves faster than a thief can follow.
    #[inline(always)]
    fn claim_oldest(&self, pick: impl Fn(u32) -> u32) -> Result<Claim, StealError> {
        for _ in 0..RACES {
            // Uncut: of a count that is too large the claim fails, and nobody else hears of it.
            let seen = self.positions.observe::<O>(u32::MAX)?;
            let count = pick(seen.count).min(seen.count);
            if count == 0 {
                return Err(StealError::Empty);
            }
            if let Some(claim) = self.positions.claim::<O>(&seen, count) {
                return Ok(claim);
            }
        }
        Err(StealError::Busy)
    }

    /// Moves a run of items to another ring, or to another place in this one.
    ///
    /// # Safety
    /// The run is claimed by the caller (Claim rule) and is read once; the caller owns the other ring, and as many of
    /// its positions are vacant.
    #[inline(always)]
    unsafe fn move_run(&self, mut start: u32, other: &Self, mut at: u32, mut count: u32) {
        if count < FEW {
            for offset in 0..count {
                // SAFETY: Claim rule, by the caller.
                let item = unsafe { self.read(O::plus(start, offset)) };
                // SAFETY: vacancy and ownership, by the caller.
                unsafe { other.write(O::plus(at, offset), item) };
            }
            return;
        }
        while count > 0 {
            // Up to where either ring begins again.
            let from = &self.slots[start as usize & (self.slots.len() - 1)..];
            let to = &other.slots[at as usize & (other.slots.len() - 1)..];
            let run = (count as usize).min(from.len()).min(to.len());
            // SAFETY: Claim rule and vacancy, by the caller; a vacant position is not a claimed one.
            unsafe { cell::move_items(&from[..run], &to[..run]) };
            #[allow(clippy::cast_possible_truncation)]
            let run = run as u32;
            (start, at, count) = (O::plus(start, run), O::plus(at, run), count - run);
        }
    }

    /// Asks a user's closure how many of the items that are there it wants, before anything is claimed.
    #[inline(always)]
    fn ask(&self, count_fn: impl FnOnce(usize) -> usize) -> Result<Limit, StealError> {
        let seen = self.positions.observe::<O>(self.capacity())?;
        Ok(Limit::AtMost(count_fn(seen.count as usize)))
    }
}

impl<T, O: Order> Drop for Ring<T, O> {
    /// Drops what is queued. What a forgotten `Drain` had claimed is nobody's any more and leaks.
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            let start = Words::of(self.positions.claims()).head;
            // No handle is left, so all that is queued is ours.
            let claim = Claim { start, count: self.positions.len::<O>() };
            drop(Drain::new(self, claim));
        }
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests;
