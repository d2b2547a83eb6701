//! The list of completed jobs, shared by a set and the cells of its members.
//!
//! A member of a set holds a reference to the set's list in its waker slot, in place of a waker. The thread that sets `DONE`
//! pushes the member's key, and the consumer of the list takes the keys in the order of the pushes.
//!
//! **Waiting.** A waiting consumer leaves a waker and a number of keys, under the lock of the keys. So either it sees
//! enough keys, or the push that completes the number takes the waker, and wakes the consumer once.
//!
//! **Telling.** A set with a limit on members is told of each completion. The pushing thread calls the set's closure last: by
//! then the completion can be taken, and the consumer has been woken.
//!
//! No user code runs under the lock: wakers are cloned before it, and woken and dropped after it. In a forked child a thread of the
//! parent may hold the lock for ever, so it is not taken there.
//!
//! **Rejected.** A waker for each member: an allocation, and a counted reference to the set. A list without a lock, whose links
//! lie in the cells: each cell lives until the key is taken, and a wait needs the lock all the same.

use core::task::Waker;
use std::sync::Arc;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::{Mutex, MutexGuard, OnceLock, fork};

use crate::contain::contain;

/// The list of a set.
pub(crate) struct CompletedList {
    /// Whether there may be keys or a wait, for a consumer that need not know at once. Changed under the lock.
    pub(crate) is_any: AtomicBool,
    keys: Mutex<Keys>,
    /// The generation of the process that made the list.
    process: u32,
    /// The closure to call with the key of each completed job. Called after each push, under no lock.
    pub(crate) on_end: OnceLock<Box<dyn Fn(usize) + Send + Sync>>,
}

impl CompletedList {
    /// Locks the keys; `None` in a forked child.
    pub(crate) fn keys(&self) -> Option<MutexGuard<'_, Keys>> {
        (self.process == fork::generation()).then(|| self.keys.lock())
    }
}

impl Default for CompletedList {
    fn default() -> Self {
        let (is_any, keys, on_end) = Default::default();
        Self { is_any, keys, process: fork::generation(), on_end }
    }
}

/// The keys of completed members, and the wait for them.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) list: Vec<usize>,
    /// The number of keys at which the consumer's wait ends, and the waker to wake then.
    pub(crate) wait: Option<(usize, Waker)>,
}

/// The content of a member's waker slot.
pub(super) struct Member {
    pub(super) list: Arc<CompletedList>,
    /// The key of the member in its set.
    pub(super) key: usize,
}

impl Member {
    /// Pushes the key of the member, which has completed, and wakes the consumer if the push ends the wait.
    #[inline(never)]
    pub(super) fn push(self) {
        let Self { list, key } = self;
        let Some(mut keys) = list.keys() else { return core::mem::forget(list) };
        keys.list.push(key);
        // Ordering: Relaxed: a hint; the lock publishes the keys.
        list.is_any.store(true, Ordering::Relaxed);
        let count = keys.list.len();
        let wait = keys.wait.take_if(|(target, _)| *target <= count);
        drop(keys);
        if let Some((_, waker)) = wait {
            contain(|| waker.wake());
        }
        if let Some(on_end) = list.on_end.get() {
            contain(|| on_end(key));
        }
    }
}
