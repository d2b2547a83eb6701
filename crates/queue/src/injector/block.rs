//! Blocks of slots, and the few that are kept to be used again.

use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr;

use brigade_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use brigade_sync::cell::UnsafeCell;
use brigade_sync::hint;

/// Positions that one block covers. The last has no slot: an index that stands there says that its
/// mover is about to step to the next block.
pub(super) const LAP: u64 = if cfg!(brigade_loom) { 4 } else { 512 };
/// Slots in a block: about 16 KiB of four-word jobs.
pub(super) const SLOTS: u64 = LAP - 1;

/// A run of slots.
///
/// **Slot rule.** A slot is written once, by the pusher whose exchange claimed its position, then
/// marked ready; read once, by the popper whose exchange claimed it; and used again only after every
/// slot of the block has been read.
pub(super) struct Block<T> {
    /// The block after this one; null until the push that claims the last slot sets it.
    pub(super) next: AtomicPtr<Block<T>>,
    /// How many slots have been read.
    read: AtomicU32,
    /// Which slots have been written.
    ready: [AtomicBool; SLOTS as usize],
    /// The items.
    slots: [UnsafeCell<MaybeUninit<T>>; SLOTS as usize],
}

impl<T> Block<T> {
    /// Allocates an empty block, on the heap from the start: a large `T` must not pass over the stack.
    #[cfg(not(brigade_loom))]
    pub(super) fn new() -> Box<Self> {
        let block = Box::into_raw(Box::<Self>::new_uninit()).cast::<Self>();
        // SAFETY: the field lies in the allocation above, which is ours; nothing is read.
        let next = unsafe { &raw mut (*block).next };
        // SAFETY: as above.
        let read = unsafe { &raw mut (*block).read };
        // SAFETY: as above.
        let ready = unsafe { &raw mut (*block).ready };
        // SAFETY: `next` is writable and aligned.
        unsafe { next.write(AtomicPtr::new(ptr::null_mut())) };
        // SAFETY: `read` is writable and aligned.
        unsafe { read.write(AtomicU32::new(0)) };
        // SAFETY: `ready` is writable; zero bytes are `false`.
        unsafe { ready.write_bytes(0, 1) };
        // SAFETY: every field is initialised; the slots may hold anything.
        unsafe { Box::from_raw(block) }
    }

    /// Allocates an empty block.
    #[cfg(brigade_loom)]
    pub(super) fn new() -> Box<Self> {
        Box::new(Self {
            next: AtomicPtr::new(ptr::null_mut()),
            read: AtomicU32::new(0),
            ready: core::array::from_fn(|_| AtomicBool::new(false)),
            slots: core::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
        })
    }

    /// Moves an item in and marks it ready.
    ///
    /// # Safety
    /// The caller claimed the slot for writing, and writes it once (Slot rule). So it is below [`SLOTS`].
    #[inline(always)]
    pub(super) unsafe fn write(&self, slot: usize, item: T) {
        // SAFETY: a slot that was claimed exists. Unchecked, as in the ring: a check that could unwind here
        // would keep the item in memory.
        let cell = unsafe { self.slots.get_unchecked(slot) };
        // SAFETY: as above.
        let ready = unsafe { self.ready.get_unchecked(slot) };
        cell.with_mut(|cell| {
            // SAFETY: Slot rule, by the caller: nobody else reads or writes the slot now.
            unsafe { cell.cast::<T>().write(item) }
        });
        // Ordering: Release pairs with the Acquire in `read`; it publishes the item.
        ready.store(true, Ordering::Release);
    }

    /// Waits until an item has been written and moves it out.
    ///
    /// # Safety
    /// The caller claimed the slot for reading, and reads it once (Slot rule).
    #[inline]
    pub(super) unsafe fn read(&self, slot: usize) -> T {
        let mut round = 0;
        // Ordering: Acquire pairs with the Release in `write`.
        while !self.ready[slot].load(Ordering::Acquire) {
            // Its pusher is between its exchange and its store; if it lost the processor there, it gets ours.
            hint::snooze(round);
            round += 1;
        }
        self.slots[slot].with(|cell| {
            // SAFETY: Slot rule, by the caller; it is ready, so it is written.
            unsafe { cell.cast::<T>().read() }
        })
    }

    /// Waits for the block after this one.
    pub(super) fn wait_next(&self) -> *mut Self {
        let mut round = 0;
        loop {
            // Ordering: Acquire pairs with the Release in `Injector::install`: the block is whole.
            let next = self.next.load(Ordering::Acquire);
            if !next.is_null() {
                return next;
            }
            hint::snooze(round);
            round += 1;
        }
    }

    /// Counts slots as read; returns whether they were the last, so that the block is the caller's.
    #[must_use]
    pub(super) fn finish(&self, count: u32) -> bool {
        // Ordering: AcqRel: every reader's reads come before the last reader's reuse.
        u64::from(self.read.fetch_add(count, Ordering::AcqRel) + count) == SLOTS
    }

    /// Makes a block that was read whole as good as new.
    fn clear(&mut self) {
        // Ordering: Relaxed, as `&mut` says that nobody else has it; its next reader gets it through an exchange or
        // a store with Release.
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
        self.read.store(0, Ordering::Relaxed);
        for ready in &self.ready {
            ready.store(false, Ordering::Relaxed);
        }
    }
}

/// Blocks that wait to be used again.
///
/// Each place holds one or none and changes by a swap or an exchange with null, so that nothing
/// depends on what a block was before (no ABA).
pub(super) struct Spares<T>([AtomicPtr<Block<T>>; PLACES]);

/// Enough for a steady flow, in which about two blocks are in use; what a spike needed is freed.
const PLACES: usize = 4;

impl<T> Spares<T> {
    pub(super) fn new() -> Self {
        Self(core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())))
    }

    /// Takes a spare block, or allocates one.
    pub(super) fn take(&self) -> Box<Block<T>> {
        for place in &self.0 {
            // Ordering: Relaxed: a look before the swap, which decides.
            if place.load(Ordering::Relaxed).is_null() {
                continue;
            }
            // Ordering: Acquire pairs with the Release in `keep`: the block is clear.
            let block = place.swap(ptr::null_mut(), Ordering::Acquire);
            if !block.is_null() {
                // SAFETY: it came from a box in `keep`, and the swap made it ours alone.
                return unsafe { Box::from_raw(block) };
            }
        }
        Block::new()
    }

    /// Keeps a block that nobody uses any more, or frees it if enough are kept.
    pub(super) fn keep(&self, mut block: Box<Block<T>>) {
        block.clear();
        let raw = Box::into_raw(block);
        for place in &self.0 {
            // Ordering: Release pairs with the Acquire in `take`.
            let kept =
                place.compare_exchange(ptr::null_mut(), raw, Ordering::Release, Ordering::Relaxed);
            if kept.is_ok() {
                return;
            }
        }
        // SAFETY: it is the box from above; no place took it.
        drop(unsafe { Box::from_raw(raw) });
    }
}

impl<T> Drop for Spares<T> {
    fn drop(&mut self) {
        for place in &self.0 {
            // Ordering: Relaxed, as `&mut` came by way of whatever synchronised the last users.
            let block = place.swap(ptr::null_mut(), Ordering::Relaxed);
            if !block.is_null() {
                // SAFETY: as in `take`.
                drop(unsafe { Box::from_raw(block) });
            }
        }
    }
}
