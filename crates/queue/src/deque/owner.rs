//! The owner's end of a deque.

use alloc::sync::Arc;
use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::panic::{RefUnwindSafe, UnwindSafe};

use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::{AsymmetricFence, OwnerEnd};

use super::thief::Stealer;
use super::{Buffer, Shared, Slots, read, with, write};

/// How many slots the first push allocates; few where a model checker follows each of them.
const FIRST: usize = if cfg!(any(brigade_loom, brigade_seeded)) { 2 } else { 32 };

/// How many slots an empty deque keeps when it gives back memory. Forks need a slot for each level of a recursion; with this many, a
/// program with a thousand jobs in each step allocates nothing in between, and a deque of four words an item keeps 32 kB.
const KEPT: usize = if cfg!(any(brigade_loom, brigade_seeded)) { FIRST } else { 1024 };

/// The owner's end of a deque: pushes, and pops the newest item.
///
/// Not `Sync` and not `Clone`: there is a single owner. The oldest items are [*public*](Self::publish): a thief takes them for the price
/// of a lock. A push makes an item public if none is, and half of the items if thieves have taken all public items. A push and a pop of
/// any other item write memory of the owner only, without a fence or a read-modify-write. The slots grow as needed;
/// [`shrink`](Self::shrink) gives memory back. Items still queued when it is dropped are left to the stealers, and dropped with the last
/// of them.
///
/// ```
/// use brigade_queue::deque::Worker;
/// let (worker, thief) = (Worker::new(), Worker::new());
/// (1..=4).for_each(|item| worker.push(item));
/// assert_eq!(worker.pop(), Some(4), "the newest");
/// assert!(worker.publish());
/// assert_eq!(worker.stealer().steal(&thief, |_, count| count), Ok(1), "the oldest of those stolen");
/// assert_eq!((worker.pop(), thief.pop(), thief.pop()), (Some(3), Some(2), None), "of three, half were stolen");
/// ```
pub struct Worker<T> {
    shared: Arc<Shared<T>>,
    /// The slots, which only this replaces.
    slots: Cell<Slots<T>>,
    /// A position up to which slots are free; the true position may be further on.
    room: Cell<u64>,
    /// The fence of this process, from the first push on: an unused deque does not ask the system for it.
    light: Cell<AsymmetricFence>,
}

// SAFETY: it points to the slots of `shared`, which it owns a part of and may move to another thread.
unsafe impl<T: Send> Send for Worker<T> {}
impl<T> UnwindSafe for Worker<T> {}
impl<T> RefUnwindSafe for Worker<T> {}

impl<T> Default for Worker<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Worker<T> {
    /// Creates an empty deque; the first push allocates its slots, and the first of a process may take [some 10
    /// ms](AsymmetricFence::new).
    pub fn new() -> Self {
        let shared = Arc::new(Shared::new());
        let slots = Cell::new(shared.buffer.lock().slots());
        let light = Cell::new(AsymmetricFence::full());
        Self { shared, slots, room: Cell::new(0), light }
    }

    /// Returns a thief's end.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer(self.shared.clone())
    }

    /// Pushes an item, makes the oldest public if none is, and passes the [light side](Self::fence) of the fence: a thread that passes the
    /// [heavy side](Stealer::fence) sees the item, or the owner sees after this all earlier writes of the thread.
    ///
    /// If there is no memory for more slots, the process is aborted, as by any collection of `std`.
    #[inline(always)]
    pub fn push(&self, item: T) {
        // Leaked if the next lines unwind: a value to be dropped then would lie in memory, written twice.
        let item = ManuallyDrop::new(item);
        let shared = &*self.shared;
        // Ordering: Relaxed: only the owner writes it.
        let position = shared.bottom.load(Ordering::Relaxed);
        if position == self.room.get() {
            self.make_room();
        }
        // SAFETY: Slot rule: the slot is free, as `make_room` has checked.
        unsafe { write(self.slots.get(), position, ManuallyDrop::into_inner(item)) };
        // Ordering: Release: a thief that sees the position sees the item.
        shared.bottom.store(position + 1, Ordering::Release);
        self.fence();
        // Ordering: Relaxed: old values only lead to a needless publication, or delay a publication until the next push.
        if shared.claimed.load(Ordering::Relaxed) <= shared.top.load(Ordering::Relaxed) {
            self.publish_half();
        }
    }

    /// Makes the older half of the items public.
    #[cold]
    #[inline(never)]
    fn publish_half(&self) {
        if let Some(_locked) = self.shared.buffer.try_lock() {
            let top = self.shared.top.load(Ordering::Relaxed);
            let half = (self.position() - top).div_ceil(2);
            // Ordering: Relaxed, as in `publish`.
            self.shared.claimed.store(top + half, Ordering::Relaxed);
        }
    }

    /// Makes all present items public: a thief takes them without its fence, which costs it a system call of several
    /// microseconds, and the owner pops each of them under a lock.
    ///
    /// It has no effect while a thief steals, and returns `false`.
    ///
    /// ```
    /// use brigade_queue::deque::Worker;
    /// let (worker, thief) = (Worker::new(), Worker::new());
    /// (1..=4).for_each(|item| worker.push(item));
    /// assert!(worker.publish());
    /// assert_eq!(worker.stealer().steal(&thief, |_, count| count), Ok(1));
    /// assert_eq!((thief.pop(), worker.pop()), (Some(2), Some(4)));
    /// ```
    pub fn publish(&self) -> bool {
        let Some(_locked) = self.shared.buffer.try_lock() else { return false };
        // Ordering: Relaxed: this is a claim, which the owner itself sees from now on, and thieves see under the lock. No thief
        // has a claim now.
        self.shared.claimed.store(self.position(), Ordering::Relaxed);
        true
    }

    /// Orders the owner's operations before it against those after it, towards threads that pass the heavy side.
    #[inline(always)]
    pub fn fence(&self) {
        self.light.get().light();
    }

    /// Pops the newest item.
    #[inline(always)]
    pub fn pop(&self) -> Option<T> {
        let position = self.position();
        // Ordering: Relaxed: an old value only leads to the check below.
        if self.shared.top.load(Ordering::Relaxed) >= position {
            return None;
        }
        // Ordering: Release, as every store of `bottom`: the next thief sees the items below by this one.
        self.shared.bottom.store(position - 1, Ordering::Release);
        self.fence();
        // Ordering: Acquire: a thief looks at the item before it puts back its claim. The fence orders it after the
        // store.
        if self.shared.claimed.load(Ordering::Acquire) < position {
            // SAFETY: Slot rule: the owner's announcement came first: any thief that claims this item from now on sees it.
            return Some(unsafe { read(self.slots.get(), position - 1) });
        }
        self.pop_claimed(position)
    }

    /// Pops the item before `position`, which a thief has claimed, if the thief has left it.
    #[cold]
    #[inline(never)]
    fn pop_claimed(&self, position: u64) -> Option<T> {
        // Waits for the thief.
        let buffer = self.shared.buffer.lock();
        if self.shared.top.load(Ordering::Relaxed) < position {
            // Ordering: Relaxed, as in `publish`. The next item pushed here is not public.
            self.shared.claimed.store(position - 1, Ordering::Relaxed);
            // SAFETY: Slot rule: under the lock, no thief has taken it.
            return Some(unsafe { buffer.read(position - 1) });
        }
        self.shared.bottom.store(position, Ordering::Release);
        None
    }

    #[cfg(all(test, not(brigade_loom)))]
    pub(super) fn shared_for_tests(&self) -> &Shared<T> {
        &self.shared
    }

    /// The position of the next push: the number of items pushed and not popped by the owner.
    #[inline(always)]
    pub fn position(&self) -> u64 {
        // Ordering: Relaxed: only the owner writes it.
        self.shared.bottom.load(Ordering::Relaxed)
    }

    /// The number of items; an item being stolen counts until it has been taken.
    #[inline]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether there is no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ensures that the slot of the next push is free.
    #[cold]
    #[inline(never)]
    fn make_room(&self) {
        if !self.shared.is_used.load(Ordering::Relaxed) {
            self.light.set(AsymmetricFence::new());
            self.shared.is_used.store(true, Ordering::Relaxed);
            // Ordering: if a thread passes a `SeqCst` fence and does not see this, the owner's next reads see the thread's
            // writes.
            fence(Ordering::SeqCst);
        }
        let mut buffer = self.shared.buffer.lock();
        let top = self.shared.top.load(Ordering::Relaxed);
        if self.position() - top == buffer.len() as u64 {
            let larger = Buffer::with_slots((buffer.len() * 2).max(FIRST));
            for position in top..self.position() {
                // SAFETY: Slot rule: under the lock no thief reads.
                let item = unsafe { buffer.read(position) };
                // SAFETY: Slot rule: the new slots are this thread's own, and large enough.
                unsafe { write(larger.slots(), position, item) };
            }
            *buffer = larger;
        }
        self.have(&buffer, top);
    }

    /// Uses these slots from now on, under their lock.
    fn have(&self, buffer: &Buffer<T>, top: u64) {
        self.slots.set(buffer.slots());
        self.room.set(top + buffer.len() as u64);
    }

    /// Gives back memory if the deque is empty and has held many items: it keeps 1,024 slots.
    ///
    /// It has no effect while a thief steals.
    ///
    /// ```
    /// let worker = brigade_queue::deque::Worker::new();
    /// (0..100_000).for_each(|item| worker.push(item));
    /// while worker.pop().is_some() {}
    /// worker.shrink();
    /// worker.push(1);
    /// assert_eq!(worker.pop(), Some(1));
    /// ```
    pub fn shrink(&self) {
        // It has none before the first push.
        if self.slots.get().mask.wrapping_add(1) <= KEPT {
            return;
        }
        let Some(mut buffer) = self.shared.buffer.try_lock() else { return };
        let top = self.shared.top.load(Ordering::Relaxed);
        if top == self.position() {
            *buffer = Buffer::with_slots(KEPT);
            self.have(&buffer, top);
        }
    }
}

// SAFETY: `bottom` is before a forgotten item, and the owner's announcement came before any thief's claim of it.
unsafe impl<T> OwnerEnd<T> for Worker<T> {
    #[inline(always)]
    unsafe fn forget_newest_if(&self, is: impl FnOnce(&T) -> bool) -> bool {
        let shared = &*self.shared;
        // Ordering: Relaxed: only the owner writes it.
        let Some(position) = shared.bottom.load(Ordering::Relaxed).checked_sub(1) else {
            return false;
        };
        shared.bottom.store(position, Ordering::Release);
        self.fence();
        // Ordering: Acquire, as in `pop`.
        let is_own = shared.claimed.load(Ordering::Acquire) <= position;
        // SAFETY: Slot rule, as in `pop`: it was pushed, as `bottom` was beyond it. The caller's closure pushes nothing.
        let is = is_own && unsafe { with(self.slots.get(), position, is) };
        if !is {
            // Ordering: Release: as if it was pushed again.
            shared.bottom.store(position + 1, Ordering::Release);
        }
        is
    }
}

brigade_sync::opaque!([T] Worker<T>: len);

#[cfg(all(test, brigade_loom))]
mod loom_tests {
    use brigade_sync::model::check;
    use loom::sync::atomic::AtomicBool;

    use super::*;

    /// An owner makes its first room and then reads a flag. A thread sets the flag, passes an ordinary fence, and asks whether the deque
    /// is used. At least one of the two sees the other. The push comes later: its fence may bind the compiler only.
    ///
    /// Caught: no fence in `make_room`.
    #[test]
    fn the_first_push_is_seen_or_its_owner_sees_the_rest() {
        check(3, || {
            let worker = Worker::<u32>::new();
            let (stealer, flag) = (worker.stealer(), loom::sync::Arc::new(AtomicBool::new(false)));
            let looks = loom::thread::spawn({
                let flag = flag.clone();
                move || {
                    flag.store(true, Ordering::Relaxed);
                    fence(Ordering::SeqCst);
                    stealer.is_used()
                }
            });
            worker.make_room();
            let saw_flag = flag.load(Ordering::Relaxed);
            assert!(looks.join().unwrap() || saw_flag);
        });
    }
}
