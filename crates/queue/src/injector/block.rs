//! Blocks of slots, and the spare blocks kept for reuse.

use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr;

use brigade_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use brigade_sync::cell::UnsafeCell;
use brigade_sync::hint;

/// The positions of a block. The last has no slot: while the index is there, a thread is about to advance it to the next
/// block.
pub(super) const LAP: u64 = if cfg!(any(brigade_loom, brigade_seeded)) { 4 } else { 512 };
/// The slots of a block: about 16 KiB of four-word jobs.
pub(super) const BLOCK_CAP: u64 = LAP - 1;

/// A run of slots.
///
/// **Slot rule.** A slot is written once, by the push whose exchange claimed its position, then marked ready. It is read
/// once, by the pop whose exchange claimed it, and used again only after every slot of the block has been read.
pub(super) struct Block<T> {
    /// The next block; null until the push that claims the last slot sets it.
    pub(super) next: AtomicPtr<Block<T>>,
    /// The number of read slots.
    read: AtomicU32,
    /// For each slot, whether it has been written.
    ready: [AtomicBool; BLOCK_CAP as usize],
    /// The items.
    slots: [UnsafeCell<MaybeUninit<T>>; BLOCK_CAP as usize],
}

impl<T> Block<T> {
    /// Allocates an empty block, directly on the heap: a large `T` must not be copied over the stack.
    #[cfg(not(brigade_loom))]
    pub(super) fn new() -> Box<Self> {
        let block = Box::into_raw(Box::<Self>::new_uninit()).cast::<Self>();
        // SAFETY: the field lies in the allocation above, which is not shared; nothing is read.
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
        // SAFETY: every field is initialised; the slots need not be.
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
    /// The caller must have claimed the slot for writing, and write it once (Slot rule). So it is below [`BLOCK_CAP`].
    #[inline(always)]
    pub(super) unsafe fn write(&self, slot: usize, item: T) {
        // SAFETY: a claimed slot exists. Unchecked, as in the ring: a check that could unwind here would keep the item
        // in memory.
        let cell = unsafe { self.slots.get_unchecked(slot) };
        // SAFETY: as above.
        let ready = unsafe { self.ready.get_unchecked(slot) };
        cell.with_mut(|cell| {
            // SAFETY: Slot rule, guaranteed by the caller: no other thread accesses the slot now.
            unsafe { cell.cast::<T>().write(item) }
        });
        // Ordering: Release pairs with the Acquire in `read`; it publishes the item.
        ready.store(true, Ordering::Release);
    }

    /// Waits until an item has been written and moves it out.
    ///
    /// # Safety
    /// The caller must have claimed the slot for reading, and read it once (Slot rule).
    #[inline]
    pub(super) unsafe fn read(&self, slot: usize) -> T {
        let mut round = 0;
        // Ordering: Acquire pairs with the Release in `write`.
        while !self.ready[slot].load(Ordering::Acquire) {
            // Its pusher is between its exchange and its store; if it was preempted there, it may run on our processor.
            hint::snooze(round);
            round += 1;
        }
        self.slots[slot].with(|cell| {
            // SAFETY: Slot rule, guaranteed by the caller; a ready slot has been written.
            unsafe { cell.cast::<T>().read() }
        })
    }

    /// Waits for the next block.
    pub(super) fn wait_next(&self) -> *mut Self {
        let mut round = 0;
        loop {
            // Ordering: Acquire pairs with the Release in `Injector::install`: the block is initialised.
            let next = self.next.load(Ordering::Acquire);
            if !next.is_null() {
                return next;
            }
            hint::snooze(round);
            round += 1;
        }
    }

    /// Counts slots as read; returns whether all have been; then the block belongs to the caller.
    #[must_use]
    pub(super) fn finish_reading(&self, count: u32) -> bool {
        // Ordering: AcqRel: all reads come before the last reader's reuse.
        u64::from(self.read.fetch_add(count, Ordering::AcqRel) + count) == BLOCK_CAP
    }

    /// Resets a block whose slots have all been read.
    fn clear(&mut self) {
        // Ordering: Relaxed: `&mut`, so no other thread has it. Its next reader gets it through an exchange or a store
        // with Release.
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
        self.read.store(0, Ordering::Relaxed);
        for ready in &self.ready {
            ready.store(false, Ordering::Relaxed);
        }
    }
}

/// Spare blocks.
///
/// Each entry holds a block or none and changes by a swap or an exchange with null, so nothing depends on a block's former
/// use (no ABA).
pub(super) struct Spares<T>([AtomicPtr<Block<T>>; MAX_SPARES]);

/// Enough for a steady flow, in which about two blocks are in use; the blocks of a spike are freed.
const MAX_SPARES: usize = 4;

impl<T> Spares<T> {
    pub(super) fn new() -> Self {
        Self(core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())))
    }

    /// Takes a spare block, or allocates a block.
    pub(super) fn take(&self) -> Box<Block<T>> {
        for entry in &self.0 {
            // Ordering: Relaxed: the swap decides.
            if entry.load(Ordering::Relaxed).is_null() {
                continue;
            }
            // Ordering: Acquire pairs with the Release in `recycle`: the block has been reset.
            let block = entry.swap(ptr::null_mut(), Ordering::Acquire);
            if !block.is_null() {
                // SAFETY: it came from a box in `recycle`, and the swap removed it from the spares.
                return unsafe { Box::from_raw(block) };
            }
        }
        Block::new()
    }

    /// Keeps an unused block as a spare, or frees it if there are enough.
    #[inline(never)]
    pub(super) fn recycle(&self, mut block: Box<Block<T>>) {
        block.clear();
        let raw = Box::into_raw(block);
        for entry in &self.0 {
            // Ordering: Release pairs with the Acquire in `take`.
            let kept =
                entry.compare_exchange(ptr::null_mut(), raw, Ordering::Release, Ordering::Relaxed);
            if kept.is_ok() {
                return;
            }
        }
        // SAFETY: it is the box from above; no entry took it.
        drop(unsafe { Box::from_raw(raw) });
    }
}

impl<T> Drop for Spares<T> {
    fn drop(&mut self) {
        for entry in &self.0 {
            // Ordering: Relaxed: `&mut`, so the last users have been synchronised with.
            let block = entry.swap(ptr::null_mut(), Ordering::Relaxed);
            if !block.is_null() {
                // SAFETY: as in `take`.
                drop(unsafe { Box::from_raw(block) });
            }
        }
    }
}
