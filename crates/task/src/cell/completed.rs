//! The list of completed cells that a set of jobs shares with them.
//!
//! A member of a set holds a reference to the set's list in its waker slot, in place of a waker. The thread that sets `DONE`
//! pushes the cell, with a key that the set chose, and the consumer of the list takes the keys in the order of the pushes.
//! Nothing is allocated for a member, and a push is one compare-and-swap, if no other comes between.
//!
//! | `head` | meaning | changed by |
//! |---|---|---|
//! | null | nothing to take, and no wait | a push to its cell; the consumer to `WAITING` |
//! | `WAITING` | nothing to take; the next push must take the lock and look | a push to its cell; the consumer to null |
//! | a cell | the last one pushed; its `link` is the one before, or null | a push to its cell; a take to null or `WAITING` |
//!
//! **Member rule.** `MEMBER` in the [state](super::state) keeps a cell alive. Until `DONE` the link is a reference to the list,
//! from [`Arc::into_raw`]. It belongs to the handle if that has cleared `MEMBER`, or else to the thread that sets `DONE` and
//! finds `MEMBER`. That thread takes the reference out, and passes the link on by the push, to the thread that swaps `head`.
//! From the push on the link is the cell before, then the cell after, or null. The thread that swapped `head` alone reads and
//! writes it, and clears `MEMBER`.
//!
//! **Take rule.** All cells are taken at once, by a swap. So a push needs no tag against reuse: if `head` is the address that it
//! was, the cell there is in the list, be it the one that was there or another that was allocated in its place meanwhile.
//!
//! **Waiting.** The consumer that waits for a number of completions swaps `WAITING` in, under the lock, and counts what it got.
//! If that is enough it does not wait. Otherwise exactly one later push replaces `WAITING`, and its thread is about to take
//! the lock. There it moves the cells to `taken`, swaps `WAITING` in again, and wakes the consumer if it counts enough. So
//! while the wait goes on and not enough are counted, `head` is `WAITING`, or a thread is about to look. No wake-up is lost, and
//! the consumer is woken once. A thread that looks after the wait has ended leaves everything as it is. Only while `is_on`
//! do others than the consumer swap `head`; so a consumer that has not waited since its last take needs no lock.
//!
//! **Telling.** A set that limits its members is told of each completion. The thread that has pushed it calls the set's closure last: by
//! then the completion can be taken, and the consumer has been woken.
//!
//! No user code runs under the lock: wakers are cloned before it, and woken and dropped after it.
//!
//! **Rejected.** A waker for each member: an allocation, and a reference to the set that is counted by it. A count beside
//! `head` that tells whether enough have completed: a second contended read-modify-write for each job. A lock around a queue
//! of keys: the consumer, which looks after each job that it has run itself, would contend with each completion.

use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};
use core::task::Waker;
use std::sync::Arc;

use brigade_sync::atomic::{AtomicPtr, Ordering};
use brigade_sync::{Mutex, OnceLock};

use super::header::{Header, Link};
use super::state::{Finished, MEMBER};
use crate::contain::{contain, drop_contained};

/// The value of `head` while the consumer waits; no address of a cell.
const WAITING: *mut Header = ptr::without_provenance_mut(1);

/// What is told of each end, with the key of the job.
pub(crate) type OnEnd = Box<dyn Fn(usize) + Send + Sync>;

/// The list of a set.
pub(crate) struct CompletedList {
    head: AtomicPtr<Header>,
    wait: Mutex<Wait>,
    /// Called after each push, under no lock.
    on_end: OnceLock<OnEnd>,
}

/// A wait of the consumer.
struct Wait {
    /// Whether it goes on.
    is_on: bool,
    /// How many cells in `taken` end it.
    target: usize,
    /// The waker that ends it.
    waker: Option<Waker>,
    /// What has been taken from `head` for the consumer.
    taken: Chain,
}

impl Wait {
    /// Ends the wait if enough have been taken for it; returns its waker then.
    fn end_if_reached(&mut self) -> Option<Waker> {
        self.is_on &= self.taken.len < self.target;
        if self.is_on { None } else { self.waker.take() }
    }
}

/// Cells in the order of their pushes, taken out of `head`.
pub(crate) struct Chain {
    first: *mut Header,
    last: *mut Header,
    len: usize,
}

// SAFETY: by the Member rule the chain owns its cells' links and sides. It touches nothing else of the cells, except to free
// those that all sides have released, which may be done on any thread.
unsafe impl Send for Chain {}

impl CompletedList {
    pub(crate) fn new() -> Self {
        let wait = Wait { is_on: false, target: 0, waker: None, taken: Chain::new() };
        let head = AtomicPtr::new(ptr::null_mut());
        Self { head, wait: Mutex::new(wait), on_end: OnceLock::new() }
    }

    /// Has a closure called after each push from now on, unless there is one already.
    pub(crate) fn tell(&self, on_end: OnEnd) {
        _ = self.on_end.set(on_end);
    }

    /// Pushes a completed cell, and wakes the consumer if that ends its wait.
    ///
    /// # Safety
    /// Member rule: the caller must own the link, and have taken the reference out. The pointer must be to the whole cell.
    unsafe fn push(&self, cell: NonNull<Header>, key: usize) {
        // Ordering: Relaxed: only compared.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            let before = if head == WAITING { ptr::null_mut() } else { head };
            // SAFETY: Member rule: the cell is alive, as its link is the caller's.
            let header = unsafe { cell.as_ref() };
            // SAFETY: Member rule: guaranteed by the caller, and not pushed yet.
            unsafe { header.set_link(Link { pointer: before.cast_const().cast(), key }) };
            // Ordering: Release pairs with the Acquire in `swap`; it publishes the link. The cells before are published by
            // their own pushes, as all changes of `head` up to its swap are read-modify-writes.
            match self.head.compare_exchange_weak(
                head,
                cell.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        if head == WAITING {
            self.look();
        }
    }

    /// Ends the wait if enough have completed; called after a push that replaced `WAITING`.
    #[cold]
    fn look(&self) {
        let mut wait = self.wait.lock();
        if !wait.is_on {
            return;
        }
        let later = self.swap(WAITING);
        wait.taken.append(later);
        let waker = wait.end_if_reached();
        drop(wait);
        contain(|| waker.into_iter().for_each(Waker::wake));
    }

    /// Takes all cells, in the order of their pushes.
    fn swap(&self, new: *mut Header) -> Chain {
        // Ordering: Acquire pairs with the Release in `push`.
        Chain::reverse(self.head.swap(new, Ordering::Acquire))
    }

    /// Whether there seems to be nothing to take, for a consumer that does not wait.
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Relaxed: a hint; `swap` acquires.
        self.head.load(Ordering::Relaxed).is_null()
    }

    /// Takes all completed cells, for a consumer that has not waited since it last took.
    pub(crate) fn take(&self) -> Chain {
        self.swap(ptr::null_mut())
    }

    /// Takes all completed cells, for a consumer that has waited; returns also whether it still did. If they are enough, the wait
    /// ends.
    pub(crate) fn take_while_waiting(&self) -> (Chain, bool) {
        let mut wait = self.wait.lock();
        let was_on = wait.is_on;
        let later = self.swap(if was_on { WAITING } else { ptr::null_mut() });
        wait.taken.append(later);
        let waker = wait.end_if_reached();
        let taken = mem::replace(&mut wait.taken, Chain::new());
        drop(wait);
        contain(|| waker.into_iter().for_each(Waker::wake));
        (taken, was_on)
    }

    /// Ends the wait; returns its waker if it went on.
    pub(crate) fn stop_waiting(&self) -> Option<Waker> {
        let mut wait = self.wait.lock();
        wait.is_on = false;
        wait.waker.take()
    }

    /// Begins to wait until this many cells can be taken, in place of any other wait; `false` if they can be already.
    pub(crate) fn wait(&self, target: usize, waker: Waker) -> bool {
        let mut wait = self.wait.lock();
        let later = self.swap(WAITING);
        wait.taken.append(later);
        (wait.is_on, wait.target) = (true, target);
        let former = wait.waker.replace(waker);
        let unused = wait.end_if_reached();
        let is_on = wait.is_on;
        drop(wait);
        // May be user code.
        drop_contained((former, unused));
        is_on
    }

    #[cfg(all(test, not(brigade_loom)))]
    pub(crate) fn is_waiting(&self) -> bool {
        self.wait.lock().is_on
    }
}

/// Fills an empty slot with a reference to a list.
///
/// # Safety
/// Slot rule: the slot must belong to the caller, and be empty.
pub(super) unsafe fn refer_to(list: Arc<CompletedList>, header: &Header, key: usize) {
    let pointer = Arc::into_raw(list).cast();
    // SAFETY: guaranteed by the caller.
    unsafe { header.set_link(Link { pointer, key }) };
}

/// Empties a slot with a reference to a list.
///
/// # Safety
/// Slot rule: the slot must belong to the caller, and hold such a reference.
pub(super) unsafe fn leave(header: &Header) {
    // SAFETY: guaranteed by the caller.
    let link = unsafe { header.link() };
    // SAFETY: guaranteed by the caller.
    unsafe { header.clear_link() };
    // SAFETY: Member rule: the link was the caller's, and the reference has been taken out.
    drop(unsafe { Arc::from_raw(link.pointer.cast::<CompletedList>()) });
}

/// Wakes the handle or pushes the cell, as the thread that finished a task must; `true` if the result belongs to that thread.
///
/// # Safety
/// Slot and Member rule: the caller must have set `DONE`, which must have returned `finished`. The pointer must be to the whole
/// cell.
#[inline]
pub(crate) unsafe fn deliver(cell: NonNull<Header>, finished: Finished) -> bool {
    match finished {
        Finished::Detached => return true,
        // SAFETY: Life rule: the caller has not released its side.
        Finished::Wake => unsafe { cell.as_ref() }.wake(),
        // SAFETY: Member rule: guaranteed by the caller.
        Finished::Push => unsafe { report(cell) },
        Finished::NoWaker => {}
    }
    false
}

/// Pushes a completed member to its set's list.
///
/// # Safety
/// Member rule: the caller must have set `DONE` and found `MEMBER`. The pointer must be to the whole cell.
#[inline(never)]
unsafe fn report(cell: NonNull<Header>) {
    // SAFETY: Member rule: the cell lives until its key has been taken from the list.
    let header = unsafe { cell.as_ref() };
    // SAFETY: Member rule: guaranteed by the caller.
    let link = unsafe { header.link() };
    // SAFETY: Member rule: as above, and it is taken out by the push.
    let list = unsafe { Arc::from_raw(link.pointer.cast::<CompletedList>()) };
    // SAFETY: Member rule: as above.
    unsafe { list.push(cell, link.key) };
    contain(|| list.on_end.get().into_iter().for_each(|on_end| on_end(link.key)));
}

impl Drop for CompletedList {
    fn drop(&mut self) {
        if !self.is_empty() {
            // Releases the cells.
            drop(self.take());
        }
    }
}

impl Chain {
    fn new() -> Self {
        Self { first: ptr::null_mut(), last: ptr::null_mut(), len: 0 }
    }

    /// Makes a chain of what was swapped out of `head`.
    fn reverse(head: *mut Header) -> Self {
        let mut chain = Self::new();
        if head == WAITING {
            return chain;
        }
        chain.last = head;
        let mut next = head;
        while let Some(cell) = NonNull::new(next) {
            // SAFETY: Member rule: taken out of `head` just now, and not released.
            let cell = unsafe { cell.as_ref() };
            // SAFETY: Member rule: as above.
            let link = unsafe { cell.link() };
            let after = Link { pointer: chain.first.cast_const().cast(), ..link };
            // SAFETY: Member rule: as above.
            unsafe { cell.set_link(after) };
            chain.first = next;
            chain.len += 1;
            next = link.pointer.cast::<Header>().cast_mut();
        }
        chain
    }

    fn append(&mut self, later: Self) {
        if later.len == 0 {
            return;
        }
        let later = ManuallyDrop::new(later);
        match NonNull::new(self.last) {
            None => self.first = later.first,
            Some(cell) => {
                // SAFETY: Member rule: the chain owns the cell.
                let cell = unsafe { cell.as_ref() };
                // SAFETY: Member rule: as above.
                let link = unsafe { cell.link() };
                // SAFETY: Member rule: as above.
                unsafe { cell.set_link(Link { pointer: later.first.cast_const().cast(), ..link }) };
            }
        }
        self.last = later.last;
        self.len += later.len;
    }
}

impl Iterator for Chain {
    type Item = usize;

    /// Releases the first cell, and returns its key.
    fn next(&mut self) -> Option<usize> {
        let cell = NonNull::new(self.first)?;
        // SAFETY: Member rule: the chain owns the cell.
        let header = unsafe { cell.as_ref() };
        // SAFETY: Member rule: as above.
        let link = unsafe { header.link() };
        self.first = link.pointer.cast::<Header>().cast_mut();
        self.len -= 1;
        if self.len == 0 {
            self.last = ptr::null_mut();
        }
        // SAFETY: Member rule: the chain owns the cell, and has unlinked it.
        unsafe { Header::release(cell, MEMBER) };
        Some(link.key)
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}
