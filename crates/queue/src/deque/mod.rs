//! An unbounded deque whose owner pushes and pops all items but the oldest without a fence or a read-modify-write.
//!
//! The owner has the newest end. Thieves take the oldest items, one thief at a time, under a lock. It is the protocol of
//! Cilk-5 (M. Frigo, C. Leiserson, K. Randall, "The Implementation of the Cilk-5 Multithreaded Language", PLDI 1998, section 5)
//! with an [asymmetric fence](brigade_sync::AsymmetricFence). `README.md` in this folder has the states, and the proof that each item is taken
//! once.

mod owner;
mod thief;

#[cfg(all(test, not(brigade_loom)))]
mod tests;

use alloc::alloc::{Layout, handle_alloc_error};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use brigade_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use brigade_sync::cell::{UnsafeCell, try_uninit_slice};
use brigade_sync::{CachePadded, Mutex};

pub use owner::Worker;
pub use thief::{Candidate, Stealer};

/// A place for an item.
type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// Where the slots are.
struct Slots<T> {
    first: NonNull<Slot<T>>,
    /// The number of slots, less 1.
    mask: usize,
}

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slots<T> {}

/// The state shared by the owner and the thieves.
///
/// Positions count from 0 and never wrap: an item has the position at which it was pushed, until another is pushed there after
/// the owner has popped it.
struct Shared<T> {
    /// The position after the newest item; only the owner writes it.
    bottom: CachePadded<AtomicU64>,
    /// Up to where thieves claim; only written under the lock.
    claimed: CachePadded<AtomicU64>,
    /// The position of the oldest item; only written under the lock.
    top: AtomicU64,
    /// Held by a claiming thief, and by the owner to publish, or to pop a public or claimed item.
    buffer: Mutex<Buffer<T>>,
    /// Whether an item has ever been pushed.
    is_used: AtomicBool,
}

/// The slots: a power of two of them, or none. The item at a position is in the slot with this number, modulo the number of
/// slots.
///
/// **Slot rule.** The slots from `top` to `bottom` have items. A thief reads a slot that it has claimed, under the lock, once it
/// has seen after its fence that `bottom` is beyond the slot. The owner reads the slot before `bottom` once it has seen, after
/// its fence or under the lock, that no thief claims it. The owner writes free slots: from `bottom` to `top` plus the number of
/// slots, except the slot at `bottom` while it lends the item there. Only the owner replaces the slots, under the lock.
struct Buffer<T>(NonNull<[Slot<T>]>);

// SAFETY: it owns the slots, which own their items; access is by the Slot rule.
unsafe impl<T: Send> Send for Buffer<T> {}

impl<T> Buffer<T> {
    fn with_slots(count: usize) -> Self {
        let Ok(slots) = try_uninit_slice(count) else {
            let layout = Layout::array::<Slot<T>>(count);
            handle_alloc_error(layout.unwrap_or(Layout::new::<Slot<T>>()))
        };
        Self(NonNull::from(Box::leak(slots)))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn slots(&self) -> Slots<T> {
        Slots { first: self.0.cast(), mask: self.0.len().wrapping_sub(1) }
    }

    /// Moves the item at a position out of the slot.
    ///
    /// # Safety
    /// Slot rule: there must be an item, which the caller may read, and no other thread reads or writes the slot.
    unsafe fn read(&self, position: u64) -> T {
        // SAFETY: guaranteed by the caller.
        unsafe { read(self.slots(), position) }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: it came from a leaked box, and the owner has no pointer to it any more. Slots do not drop their items.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The slot of a position.
///
/// # Safety
/// The slots must exist, and there must be at least one slot.
#[inline(always)]
unsafe fn slot<'a, T>(slots: Slots<T>, position: u64) -> &'a Slot<T> {
    #[expect(clippy::cast_possible_truncation, reason = "the mask takes the low bits")]
    let index = position as usize & slots.mask;
    // SAFETY: guaranteed by the caller; the mask keeps the index within the slots.
    let slot = unsafe { slots.first.add(index) };
    // SAFETY: as above.
    unsafe { slot.as_ref() }
}

/// Moves the item at a position out of its slot.
///
/// # Safety
/// As for [`Buffer::read`]; the slots must exist.
#[inline(always)]
unsafe fn read<T>(slots: Slots<T>, position: u64) -> T {
    // SAFETY: guaranteed by the caller.
    let item = unsafe { slot(slots, position) }.with(|item| {
        // SAFETY: as above: no other thread writes it.
        unsafe { item.read() }
    });
    // SAFETY: as above: there is an item.
    unsafe { item.assume_init() }
}

/// Calls with the item at a position.
///
/// # Safety
/// As for [`Buffer::read`], for the length of the call; the slots must exist.
#[inline(always)]
unsafe fn with<T, R>(slots: Slots<T>, position: u64, call: impl FnOnce(&T) -> R) -> R {
    // SAFETY: guaranteed by the caller.
    unsafe { slot(slots, position) }.with(|item| {
        // SAFETY: as above: no other thread writes it.
        let item = unsafe { &*item };
        // SAFETY: as above: there is an item.
        call(unsafe { item.assume_init_ref() })
    })
}

/// Writes an item to the slot of a position.
///
/// # Safety
/// Slot rule: the slot must be free, and only this thread may write it; the slots must exist.
#[inline(always)]
unsafe fn write<T>(slots: Slots<T>, position: u64, item: T) {
    // SAFETY: guaranteed by the caller.
    let slot = unsafe { slot(slots, position) };
    // SAFETY: as above: no other thread reads or writes it.
    slot.with_mut(|slot| unsafe { slot.write(MaybeUninit::new(item)) });
}

impl<T> Shared<T> {
    fn new() -> Self {
        Self {
            bottom: CachePadded::new(AtomicU64::new(0)),
            claimed: CachePadded::new(AtomicU64::new(0)),
            top: AtomicU64::new(0),
            buffer: Mutex::new(Buffer::with_slots(0)),
            is_used: AtomicBool::new(false),
        }
    }

    /// The number of items; an item being stolen counts until it has been taken.
    #[inline]
    fn len(&self) -> usize {
        // Ordering: Acquire: a thread that sees an item sees all writes before the push. The fences of the caller, or the
        // lock, order this with other locations.
        let top = self.top.load(Ordering::Acquire);
        usize::try_from(self.bottom.load(Ordering::Acquire).saturating_sub(top))
            .unwrap_or(usize::MAX)
    }

    /// The number of items claimed by the owner for thieves, which need no fence for them.
    #[cold]
    fn public_len(&self) -> usize {
        // Ordering: Relaxed: a thief looks again under the lock.
        let top = self.top.load(Ordering::Relaxed);
        let public = self.claimed.load(Ordering::Relaxed).saturating_sub(top);
        self.len().min(usize::try_from(public).unwrap_or(usize::MAX))
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let buffer = self.buffer.lock();
        for position in self.top.load(Ordering::Relaxed)..self.bottom.load(Ordering::Relaxed) {
            // SAFETY: Slot rule: there is an item, and no other thread is left.
            drop(unsafe { buffer.read(position) });
        }
    }
}
