//! The futures of a pool that have ever waited.
//!
//! A pool that ends cancels the pending futures, which may be referenced only from this list. Each future gets a number
//! at its first wait. A future without a wait is never listed. No user code is called under the lock: tasks are woken
//! outside.

use core::cell::Cell;

use brigade_sync::atomic::{AtomicBool, Ordering, fence};
use brigade_sync::unmodelled::{self, AtomicU64, AtomicUsize};
use brigade_sync::{CachePadded, Mutex, MutexGuard};
use brigade_task::TaskRef;

use crate::engine::queues::injectors::{MAX_SHARDS, producer};
use crate::engine::queues::lane::KEPT;

/// The list of a pool's futures.
pub(crate) struct OwnedTasks {
    /// Not an array: a pool may be built on a small stack, and builds without optimization hold several copies there.
    shards: Vec<CachePadded<Shard>>,
    /// How often a wake from outside has queued a future again, which must not count as accepted once more.
    woken: AtomicU64,
    /// Held by a thread that queues an accepted job in a closed pool, and by the thread that ends the pool.
    gate: Mutex<()>,
    /// Whether the pool ends only when all futures have ended.
    finishes: AtomicBool,
    /// How many workers poll futures, and run no closure, in a closed pool.
    polling: AtomicUsize,
}

#[derive(Default)]
struct Shard {
    listed: unmodelled::Mutex<ListedFutures>,
    /// The `count` of the list a moment ago, for threads that must not wait for the lock.
    seen: AtomicUsize,
}

impl Shard {
    /// Notes the count, under the lock of the list.
    fn note(&self, listed: &ListedFutures) {
        self.seen.store(listed.count, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct ListedFutures {
    /// The listed futures, until they end.
    tasks: Vec<Option<TaskRef>>,
    /// The vacant indices of `tasks`.
    vacant: Vec<u32>,
    /// How many futures have not ended.
    count: usize,
}

brigade_sync::unmodelled::thread_local! {
    /// Determines the shard for this thread's next future.
    static NEXT: Cell<usize> = const { Cell::new(0) };
}

/// A shard for the calling thread, different each time: futures spawned together wait together, and are removed by
/// several threads at once.
fn next_shard() -> usize {
    let next = NEXT.with(|next| next.replace(next.get().wrapping_add(1)));
    (producer() + next) % MAX_SHARDS
}

impl OwnedTasks {
    pub(in crate::engine) fn new() -> Self {
        let mut shards = Vec::new();
        for _ in 0..MAX_SHARDS {
            shards.push(CachePadded::default());
        }
        Self {
            shards,
            woken: AtomicU64::new(0),
            gate: Mutex::default(),
            finishes: AtomicBool::new(false),
            polling: AtomicUsize::new(0),
        }
    }

    /// Sets whether the pool ends only when all futures have ended. Must be called before the pool is closed.
    pub(in crate::engine) fn set_finishes(&self, finishes: bool) {
        // Ordering: Relaxed: the close, a SeqCst change of the state, comes after it.
        self.finishes.store(finishes, Ordering::Relaxed);
    }

    /// Whether the pool ends only when all futures have ended. A thread that has seen the pool closed sees the final
    /// value.
    pub(in crate::engine) fn finishes(&self) -> bool {
        // Ordering: the caller has seen the state, by a Relaxed load.
        fence(Ordering::Acquire);
        self.finishes.load(Ordering::Relaxed)
    }

    /// Prevents the end of the pool while the guard lives.
    pub(in crate::engine) fn lock_gate(&self) -> MutexGuard<'_, ()> {
        self.gate.lock()
    }

    /// Adds a future about to wait; returns a number other than 0.
    pub(crate) fn bind(&self, task: TaskRef) -> u32 {
        let here = next_shard();
        let mut listed = self.shards[here].listed.lock();
        listed.count += 1;
        let index = match listed.vacant.pop() {
            Some(index) => index as usize,
            None => {
                listed.tasks.push(None);
                listed.tasks.len() - 1
            }
        };
        listed.tasks[index] = Some(task);
        self.shards[here].note(&listed);
        drop(listed);
        match u32::try_from(index * MAX_SHARDS + here + 1) {
            Ok(number) => number,
            Err(_) => panic!("a pool has at most 2^32 futures"),
        }
    }

    /// Removes an ended future; the number is 0 if the future was never added.
    pub(crate) fn release(&self, number: u32) {
        let Some(place) = number.checked_sub(1) else { return };
        let (here, index) = (place as usize % MAX_SHARDS, place / MAX_SHARDS as u32);
        let mut listed = self.shards[here].listed.lock();
        listed.count -= 1;
        let task = listed.tasks[index as usize].take();
        listed.vacant.push(index);
        if listed.count == 0 && listed.vacant.len() > KEPT {
            // Many futures waited at once. None is listed now, so both vectors hold no future.
            (listed.tasks, listed.vacant) = (Vec::new(), Vec::new());
        }
        self.shards[here].note(&listed);
        drop(listed);
        // This may be the last reference to the future's memory.
        drop(task);
    }

    /// Calls a closure with each listed future.
    pub(in crate::engine) fn for_each(&self, call: &dyn Fn(TaskRef)) {
        for shard in &self.shards {
            let tasks = shard.listed.lock().tasks.clone();
            for task in tasks.into_iter().flatten() {
                call(task);
            }
        }
    }

    /// Whether any future waits.
    pub(in crate::engine) fn has_waiting(&self) -> bool {
        for shard in &self.shards {
            if shard.listed.lock().tasks.iter().flatten().any(TaskRef::is_waiting) {
                return true;
            }
        }
        false
    }

    /// How many futures have not ended; each shard is read at a slightly different moment. Takes no lock.
    #[cfg(feature = "observe")]
    pub(in crate::engine) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.seen.load(Ordering::Relaxed)).sum()
    }

    /// Whether all futures have ended.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.listed.lock().count == 0)
    }

    /// How often a future was queued again from outside.
    pub(in crate::engine) fn wakes(&self) -> u64 {
        // Ordering: Acquire; the caller has read the queues' counts before, which must not be newer than this.
        self.woken.load(Ordering::Acquire)
    }

    /// Counts a future about to be queued again.
    pub(in crate::engine) fn count_wake(&self) {
        // Ordering: Release: a thread that sees the queued future finds it counted, because the queue publishes it
        // afterwards.
        self.woken.fetch_add(1, Ordering::Release);
    }

    /// Counts a worker that begins, or ceases, to poll futures of a closed pool.
    pub(in crate::engine) fn count_polling(&self, polls: bool) {
        // Ordering: Relaxed, here and below: a future kept because of an old value is looked at again at its next poll.
        match polls {
            true => self.polling.fetch_add(1, Ordering::Relaxed),
            false => self.polling.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// How many workers poll futures, and run no closure, in a closed pool.
    pub(in crate::engine) fn polling(&self) -> usize {
        self.polling.load(Ordering::Relaxed)
    }

    /// Takes the count back, because the future was not queued after all.
    pub(in crate::engine) fn uncount_wake(&self) {
        // Ordering: as in `count_wake`.
        self.woken.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use brigade_testkit::Watchdog;

    use super::*;

    #[test]
    fn they_are_counted_without_a_lock() {
        let _dog = Watchdog::start(10);
        let tasks = OwnedTasks::new();
        let mut listed = tasks.shards[0].listed.lock();
        listed.count = 2;
        tasks.shards[0].note(&listed);
        drop(listed);
        let locked: Vec<_> = tasks.shards.iter().map(|shard| shard.listed.lock()).collect();
        assert_eq!(tasks.len(), 2);
        drop(locked);
    }
}
