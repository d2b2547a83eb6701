//! A thief's end of a deque.

use alloc::sync::Arc;
use core::mem::MaybeUninit;
use core::panic::{RefUnwindSafe, UnwindSafe};

use brigade_sync::AsymmetricFence;
use brigade_sync::atomic::{AtomicU64, Ordering};

use super::owner::Worker;
use super::{Shared, Slots, with};
use crate::ring::StealError;

/// The most items of a steal.
const MOST: usize = 16;

/// A thief's end of a deque: takes the oldest items.
///
/// A steal of non-[public](Worker::publish) items costs a system call of a few microseconds where the owner's operations cost no
/// fence; see [`AsymmetricFence`](brigade_sync::AsymmetricFence).
///
/// ```
/// use brigade_queue::{StealError, deque::Worker};
/// let (worker, thief) = (Worker::new(), Worker::new());
/// let stealer = worker.stealer();
/// assert_eq!(stealer.steal(&thief, |_, count| count), Err(StealError::Empty));
/// [1, 2, 3, 4].map(|item| worker.push(item));
/// worker.publish();
/// assert_eq!(stealer.steal(&thief, |_, count| count), Ok(1));
/// assert_eq!((thief.pop(), stealer.len()), (Some(2), 2));
/// ```
pub struct Stealer<T>(pub(super) Arc<Shared<T>>);

impl<T> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> UnwindSafe for Stealer<T> {}
impl<T> RefUnwindSafe for Stealer<T> {}

impl<T> Stealer<T> {
    /// Takes the oldest items, as many as `limit` says: returns the oldest, and pushes the others to `rest`.
    ///
    /// The thief claims half of the items, rounded up and at most 16, and only [public](Worker::publish) items if there are any. Then
    /// `limit` is called with the oldest of them, and their number, and returns how many to take; 0 leaves all where they are, and so
    /// does a panic. It is called under the lock: it must not push to the deque, or pop from it, which may wait for the lock.
    ///
    /// # Errors
    /// [`StealError::Empty`] if there is no item, or `limit` returned 0; [`StealError::Busy`] if another thief holds a claim.
    pub fn steal(
        &self,
        rest: &Worker<T>,
        limit: impl FnOnce(Candidate<'_, T>, usize) -> usize,
    ) -> Result<T, StealError> {
        let mut limit = Some(limit);
        self.steal_by(rest, &mut |oldest, count| {
            limit.take().map_or(0, |limit| limit(oldest, count))
        })
    }

    /// Like [`steal`](Self::steal). One copy serves all callers.
    fn steal_by(
        &self,
        rest: &Worker<T>,
        limit: &mut dyn FnMut(Candidate<'_, T>, usize) -> usize,
    ) -> Result<T, StealError> {
        let shared = &*self.0;
        if self.is_empty() {
            return Err(StealError::Empty);
        }
        let mut stolen = [const { MaybeUninit::uninit() }; MOST];
        let count = {
            let Some(buffer) = shared.buffer.try_lock() else { return Err(StealError::Busy) };
            // Ordering: Relaxed: only written under the lock.
            let top = shared.top.load(Ordering::Relaxed);
            let half = shared.len().div_ceil(2).min(MOST);
            // Ordering: Relaxed, as `top`.
            let public = shared.claimed.load(Ordering::Relaxed).saturating_sub(top);
            let (claimed, fenced) = if public > 0 {
                // The owner sees this claim, as it has made it.
                ((half as u64).min(public), true)
            } else {
                shared.claimed.store(top + half as u64, Ordering::Relaxed);
                (half as u64, AsymmetricFence::new().heavy())
            };
            // Also if `limit` panics.
            let mut claim = Claim { claimed: &shared.claimed, left: top + public };
            // Ordering: Acquire: the thief sees the owner's writes before these pushes. The fence orders it after the claim.
            let bottom = shared.bottom.load(Ordering::Acquire);
            let won = bottom.saturating_sub(top).min(claimed);
            let won = if fenced { usize::try_from(won).unwrap_or(half) } else { 0 };
            let count = if won == 0 {
                0
            } else {
                let slots = buffer.slots();
                let limit = |item: &T| {
                    limit(Candidate { item, position: top, slots, count: won }, won).min(won)
                };
                // SAFETY: Slot rule: it is claimed, and the owner's `bottom` is beyond it. Borrowed for the call only.
                unsafe { with(slots, top, limit) }
            };
            for (place, position) in stolen[..count].iter_mut().zip(top..) {
                // SAFETY: Slot rule, as above. `top` moves beyond it below, and nothing in between panics.
                place.write(unsafe { buffer.read(position) });
            }
            claim.left = top + public.max(count as u64);
            drop(claim);
            // Ordering: Release: a thread that sees the new `top` may use the free slots. `claimed` first: the owner, which
            // reads `top` first, would pop an item that `top` has passed only if it read an old `top` and the new `claimed`,
            // which is not less.
            shared.top.store(top + count as u64, Ordering::Release);
            count
        };
        let [first, others @ ..] = &stolen[..count] else { return Err(StealError::Empty) };
        // Not under the lock: the owner of `rest` may be stolen from, and needs its own lock to grow.
        for item in others {
            // SAFETY: the first `count` were written, and each is read once.
            rest.push(unsafe { item.assume_init_read() });
        }
        // SAFETY: as above.
        Ok(unsafe { first.assume_init_read() })
    }

    /// The number of items that a thief may take; an item being stolen counts until it has been taken.
    ///
    /// These are all items, or only the [public](Worker::publish) items once a heavy fence [has
    /// failed](AsymmetricFence::has_failed): no thief can take another.
    #[inline]
    pub fn len(&self) -> usize {
        if AsymmetricFence::has_failed() { self.0.public_len() } else { self.0.len() }
    }

    /// Whether there is no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an item has ever been pushed. While this is `false`, a thread that must not miss an item needs an
    /// ordinary fence only.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.0.is_used.load(Ordering::Relaxed)
    }

    /// A number that changes whenever an item is pushed, popped or stolen, unless the deque is as it was.
    pub fn epoch(&self) -> u64 {
        let top = self.0.top.load(Ordering::Relaxed);
        self.0.bottom.load(Ordering::Relaxed) ^ top.rotate_left(32)
    }

    /// Orders this thread's operations before it against those after it, towards the owner of any deque, which passes the
    /// [light side](Worker::fence). Takes a few microseconds.
    pub fn fence(&self) {
        // If the system call has failed, owners' pushes are seen later, and have to be published: `has_failed` says so.
        let _ = AsymmetricFence::new().heavy();
    }
}

/// A claim; when it is dropped, all but the taken items are put back.
struct Claim<'a> {
    claimed: &'a AtomicU64,
    left: u64,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // Ordering: Release: the owner that sees it knows: this thief looks at no item any more.
        self.claimed.store(self.left, Ordering::Release);
    }
}

/// The oldest item of a deque and its stealable successors, before a steal.
pub struct Candidate<'a, T> {
    /// The item.
    pub item: &'a T,
    /// The item's position: the number of older items ever pushed.
    pub position: u64,
    slots: Slots<T>,
    /// The number of stealable items.
    count: usize,
}

impl<T> Candidate<'_, T> {
    /// How many stealable items match `is`, from the oldest to the first mismatch.
    ///
    /// ```
    /// use brigade_queue::deque::Worker;
    /// let (worker, thief) = (Worker::new(), Worker::new());
    /// [2, 4, 5, 6, 7, 8].map(|item| worker.push(item));
    /// worker.publish();
    /// let stolen = worker.stealer().steal(&thief, |oldest, count| {
    ///     assert_eq!((*oldest.item, oldest.position, count), (2, 0, 3));
    ///     oldest.count_while(|item| item % 2 == 0)
    /// });
    /// assert_eq!((stolen, thief.pop(), thief.pop()), (Ok(2), Some(4), None));
    /// ```
    pub fn count_while(&self, is: impl Fn(&T) -> bool) -> usize {
        let mut count = 0;
        // SAFETY: Slot rule: it is claimed as this exists, and the owner's `bottom` is beyond it. Borrowed for the call.
        while count < self.count && unsafe { with(self.slots, self.position + count as u64, &is) } {
            count += 1;
        }
        count
    }
}

brigade_sync::opaque!([T] Candidate<'_, T>);

brigade_sync::opaque!([T] Stealer<T>: len);
