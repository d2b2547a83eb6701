//! How a thread that waits for borrowing jobs learns of their end.

use core::mem::MaybeUninit;
use core::task::Waker;

use brigade_sync::atomic::{AtomicU8, Ordering};
use brigade_sync::cell::UnsafeCell;
use brigade_sync::hint;

use crate::contain::contain;

/// Not set, and no waker.
const UNSET: u8 = 0;
/// Not set, and the slot has the waker of the waiting thread.
const WAITING: u8 = 1;
/// The thread that sets it takes the waker out of the slot.
const TAKING: u8 = 2;
/// The work has ended.
const DONE: u8 = 3;
/// The work was dropped before it began, and is the owner's again.
const RETURNED: u8 = 4;

/// Set once, by any thread, while the owner waits.
///
/// **Latch rule.** It lies on the stack of the owner, which returns once it has seen the latch set. So the setter does
/// nothing with it after the write of the final state, and takes the waker before.
///
/// **Waker rule.** The slot belongs to the owner, a single thread at a time, except in `TAKING`.
///
/// | from | to | by |
/// |---|---|---|
/// | `UNSET` | `WAITING` | the owner, once it has written the slot |
/// | `WAITING` | `UNSET` | the owner, which then takes the waker back |
/// | `UNSET` | `DONE`, `RETURNED` | the setter |
/// | `WAITING` | `TAKING` | the setter, which then takes the waker |
/// | `TAKING` | `DONE`, `RETURNED` | the setter, which then wakes the waker |
pub(super) struct Latch {
    state: AtomicU8,
    waker: UnsafeCell<MaybeUninit<Waker>>,
}

// SAFETY: the slot is accessed by the owner while the state is `UNSET`, and by the setter while it is `TAKING`.
unsafe impl Sync for Latch {}
// SAFETY: as above; a waker may be moved to another thread.
unsafe impl Send for Latch {}

impl Latch {
    pub(super) fn new() -> Self {
        Self { state: AtomicU8::new(UNSET), waker: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Whether it has been set.
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        // Ordering: Acquire: the owner sees the setter's earlier writes.
        self.state.load(Ordering::Acquire) >= DONE
    }

    /// Whether the work is the owner's again.
    pub(super) fn has_returned_work(&self) -> bool {
        self.state.load(Ordering::Acquire) == RETURNED
    }

    /// Registers the waker for the latch, in place of the former waker; `false` if it is set already.
    ///
    /// Only the owner calls this.
    pub(super) fn register(&self, waker: Waker) -> bool {
        let (acquire, release) = (Ordering::Acquire, Ordering::Release);
        if self.state.compare_exchange(WAITING, UNSET, acquire, acquire).is_ok() {
            // SAFETY: the owner has the slot, which had a waker.
            drop(unsafe { self.take() });
        }
        // SAFETY: the owner has the slot, unless the latch is set or about to be; then nothing reads it any more after
        // `TAKING`, in which it must not be written.
        if self.state.load(acquire) != UNSET {
            let mut round = 0;
            while !self.is_set() {
                hint::snooze(round);
                round += 1;
            }
            return false;
        }
        // SAFETY: the state is `UNSET`, which only the owner leaves for a state in which the setter uses the slot.
        self.waker.with_mut(|slot| unsafe { slot.write(MaybeUninit::new(waker)) });
        // Ordering: Release: the setter sees the waker. Acquire if it is set.
        if self.state.compare_exchange(UNSET, WAITING, release, acquire).is_err() {
            // SAFETY: it was set without a look at the slot, which is the owner's.
            drop(unsafe { self.take() });
            return false;
        }
        true
    }

    /// Takes the waker out of the slot.
    ///
    /// # Safety
    /// Waker rule: the slot is the caller's, and has a waker.
    unsafe fn take(&self) -> Waker {
        // SAFETY: guaranteed by the caller.
        let waker = self.waker.with_mut(|slot| unsafe { slot.read() });
        // SAFETY: as above.
        unsafe { waker.assume_init() }
    }

    /// Sets it: with the work done, or with the work returned to the owner.
    ///
    /// # Safety
    /// Latch rule: it must be alive until this sets it, and must be set once.
    pub(super) unsafe fn set(latch: *const Self, done: bool) {
        let last = if done { DONE } else { RETURNED };
        // SAFETY: Latch rule: it is alive until the last state is written below.
        let state = unsafe { &(*latch).state };
        let mut seen = UNSET;
        loop {
            let next = if seen == WAITING { TAKING } else { last };
            // Ordering: Release: the owner sees all writes before. Acquire: the waker.
            match state.compare_exchange(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(WAITING) => break,
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        // SAFETY: as above.
        let latch = unsafe { &*latch };
        // SAFETY: the state is `TAKING`: the slot has a waker, which is this thread's.
        let waker = unsafe { latch.take() };
        state.store(last, Ordering::Release);
        // The latch may be gone. A waker is user code, as far as this crate knows.
        contain(|| waker.wake());
    }
}

#[cfg(all(test, brigade_loom))]
impl Latch {
    /// Writes to the slot, as the owner's next call would.
    pub(super) fn overwrite(&self) {
        // SAFETY: loom checks for concurrent accesses.
        self.waker.with_mut(|slot| unsafe { slot.write(MaybeUninit::uninit()) });
    }
}
