//! The memory shared by owner and thieves: the slots and the positions in them.

use alloc::boxed::Box;
use alloc::collections::TryReserveError;
use alloc::sync::Arc;
use core::mem::MaybeUninit;
use core::panic::{RefUnwindSafe, UnwindSafe};

use brigade_sync::cell::{self, UnsafeCell};

use super::error::StealError;
use super::order::Order;
use super::positions::Positions;
use super::state::Claim;

/// The number of exchanges a thief may lose before the ring counts as busy.
const CLAIM_ATTEMPTS: u32 = 4;

/// Fewer items are moved singly: a block copy costs as much as a handful of them.
const MIN_BLOCK_COPY: u32 = 8;

/// The slots of a ring and the positions in it.
pub(super) struct Ring<T, O: Order> {
    pub(super) positions: Positions<O>,
    pub(super) slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// The number of slots, less 1, which masks a position to the index of its slot.
    mask: u32,
}

// SAFETY: items move between threads, which `T: Send` allows, and are never shared; slots are accessed by the
// Claim rule alone.
unsafe impl<T: Send, O: Order> Send for Ring<T, O> {}
// SAFETY: as above; `Worker`, which is not `Sync`, keeps the owner's methods to one thread.
unsafe impl<T: Send, O: Order> Sync for Ring<T, O> {}

// No user code runs while positions and slots disagree, so a panic finds a ring consistent.
impl<T, O: Order> UnwindSafe for Ring<T, O> {}
impl<T, O: Order> RefUnwindSafe for Ring<T, O> {}

impl<T, O: Order> Ring<T, O> {
    /// Allocates a ring with this many slots, a power of two, whose positions begin at `start`.
    pub(super) fn try_new(
        capacity: usize,
        start: u32,
        order: O,
    ) -> Result<Arc<Self>, TryReserveError> {
        let slots = cell::try_uninit_slice(capacity)?;
        let positions = Positions::new(start, order);
        #[allow(clippy::cast_possible_truncation)]
        let mask = (capacity - 1) as u32;
        Ok(Arc::new(Self { positions, slots, mask }))
    }

    /// Returns the slot of a position.
    #[inline(always)]
    pub(super) fn slot(&self, position: u32) -> &UnsafeCell<MaybeUninit<T>> {
        // SAFETY: the mask is the number of slots less 1 (`try_new`), so the masked position is in range. Unchecked,
        // because a check that could unwind here would keep the item to be written in memory instead of in registers.
        unsafe { self.slots.get_unchecked((position & self.mask) as usize) }
    }

    /// Returns the number of slots, which is at most 2^31 (`Worker::try_new`).
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Moves an item out.
    ///
    /// # Safety
    /// The caller must have claimed the position (Claim rule), and read it once.
    #[inline(always)]
    pub(super) unsafe fn read(&self, position: u32) -> T {
        self.slot(position).with(|slot| {
            // SAFETY: Claim rule, guaranteed by the caller; the slot was written before it was published.
            unsafe { slot.cast::<T>().read() }
        })
    }

    /// Moves an item in.
    ///
    /// # Safety
    /// The caller must be the owner, and the position be vacant and not yet published.
    #[inline(always)]
    pub(super) unsafe fn write(&self, position: u32, item: T) {
        self.slot(position).with_mut(|slot| {
            // SAFETY: the position is vacant, guaranteed by the caller: no other thread reads or writes it.
            unsafe { slot.cast::<T>().write(item) }
        });
    }

    /// Claims the oldest items; `pick` gets their number and returns how many to claim.
    ///
    /// Tries again if the owner or a thief has changed the claims in the meantime; each time another thread got an
    /// item. After a few lost exchanges the ring is `Busy`: an owner of tiny items moves faster than a thief can
    /// follow.
    #[inline(always)]
    pub(super) fn claim_oldest(&self, pick: impl Fn(u32) -> u32) -> Result<Claim, StealError> {
        for _ in 0..CLAIM_ATTEMPTS {
            // Not limited: with too large a count the claim fails, and the count is not passed on.
            let snapshot = self.positions.observe(u32::MAX)?;
            let count = pick(snapshot.count).min(snapshot.count);
            if count == 0 {
                return Err(StealError::Empty);
            }
            if let Some(claim) = self.positions.claim(&snapshot, count) {
                return Ok(claim);
            }
        }
        Err(StealError::Busy)
    }

    /// Moves a run of items to another ring, or to other positions of this ring.
    ///
    /// # Safety
    /// The caller must have claimed the run (Claim rule) and read it once. It must own the other ring, whose `count`
    /// positions from `at` on must be vacant.
    #[inline(always)]
    pub(super) unsafe fn move_run(
        &self,
        mut start: u32,
        other: &Self,
        mut at: u32,
        mut count: u32,
    ) {
        if count < MIN_BLOCK_COPY {
            for offset in 0..count {
                // SAFETY: Claim rule, guaranteed by the caller.
                let item = unsafe { self.read(O::plus(start, offset)) };
                // SAFETY: vacancy and ownership, guaranteed by the caller.
                unsafe { other.write(O::plus(at, offset), item) };
            }
            return;
        }
        while count > 0 {
            // Up to where either ring wraps.
            let from = &self.slots[(start & self.mask) as usize..];
            let to = &other.slots[(at & other.mask) as usize..];
            let run = (count as usize).min(from.len()).min(to.len());
            // SAFETY: Claim rule and vacancy, guaranteed by the caller; a vacant position is not claimed.
            unsafe { cell::move_items(&from[..run], &to[..run]) };
            #[allow(clippy::cast_possible_truncation)]
            let run = run as u32;
            (start, at, count) = (O::plus(start, run), O::plus(at, run), count - run);
        }
    }

    /// Calls a user's closure with the number of items; returns the number to take, before anything is claimed.
    #[inline(always)]
    pub(super) fn limit_by(
        &self,
        count_fn: impl FnOnce(usize) -> usize,
    ) -> Result<u32, StealError> {
        let snapshot = self.positions.observe(self.capacity())?;
        Ok(u32::try_from(count_fn(snapshot.count as usize)).unwrap_or(u32::MAX))
    }
}
