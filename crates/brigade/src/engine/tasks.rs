//! The futures of a pool that wait, for whatever, and those that have waited once: they may be nowhere else.
//!
//! They are here so that a pool that ends can cancel them. Each has a number from when it first waits. What ends without having
//! waited never comes here; what is polled or dropped meanwhile on a thread that is no worker is [counted](Tasks::count_aside),
//! so that the end of the pool waits for it too. No code of a user's is called here: the tasks are woken outside of the lock.

use core::cell::Cell;

use brigade_sync::atomic::Ordering;
use brigade_sync::unseen::{self, AtomicU64};
use brigade_sync::{CachePadded, Mutex};
use brigade_task::TaskRef;

use super::inlet::producer;

/// How many threads may enter a future at once without waiting for each other.
const SHARDS: usize = if cfg!(brigade_loom) { 1 } else { 8 };

/// The futures of one pool.
pub(crate) struct Tasks {
    /// Boxed: who builds a pool has it on a stack that may be a small one, and in a build without optimisation several
    /// times.
    shards: Box<[CachePadded<unseen::Mutex<Shard>>]>,
    /// How often one of them was woken from outside and queued for that: not accepted once more.
    woken: AtomicU64,
    /// Held by who queues a job in a closed pool from outside, and by who ends one.
    pub(super) gate: Mutex<()>,
}

#[derive(Default)]
struct Shard {
    /// Those that have entered, until they leave or are woken for the end.
    tasks: Vec<Option<TaskRef>>,
    /// Places that have been left.
    vacant: Vec<u32>,
    /// Futures that have been entered and not left, and those that somebody has counted.
    count: usize,
}

thread_local! {
    /// Where this thread enters the next one.
    static NEXT: Cell<usize> = const { Cell::new(0) };
}

/// A shard for the calling thread, another one each time: those that wait together, as they were spawned together, are left
/// by several threads at once.
fn next_shard() -> usize {
    let next = NEXT.get();
    NEXT.set(next.wrapping_add(1));
    (producer() + next) % SHARDS
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| CachePadded::default()).collect(),
            woken: AtomicU64::new(0),
            gate: Mutex::default(),
        }
    }

    /// Enters a future that is about to wait; returns its number, which is not 0.
    pub(crate) fn enter(&self, task: TaskRef) -> u32 {
        let here = next_shard();
        let mut shard = self.shards[here].lock();
        shard.count += 1;
        let vacant = shard.vacant.pop().map(|index| index as usize);
        let index = vacant.unwrap_or(shard.tasks.len());
        match shard.tasks.get_mut(index) {
            Some(place) => *place = Some(task),
            None => shard.tasks.push(Some(task)),
        }
        match u32::try_from(index * SHARDS + here + 1) {
            Ok(number) => number,
            Err(_) => panic!("a pool has at most 2^32 futures"),
        }
    }

    /// Forgets a future that has ended; its number is 0 if it has never been entered.
    pub(crate) fn leave(&self, number: u32) {
        let Some(place) = number.checked_sub(1) else { return };
        let (here, index) = (place as usize % SHARDS, place / SHARDS as u32);
        let mut shard = self.shards[here].lock();
        shard.count -= 1;
        let task = shard.tasks.get_mut(index as usize).and_then(Option::take);
        shard.vacant.push(index);
        drop(shard);
        // It may be the last that keeps the future's memory.
        drop(task);
    }

    /// Counts futures that are polled or dropped on this thread, which is no worker, until the guard is dropped.
    #[must_use]
    pub(super) fn count_aside(&self) -> Aside<'_> {
        let shard = &self.shards[next_shard()];
        shard.lock().count += 1;
        Aside(shard)
    }

    /// Wakes them all, in a pool where that ends them.
    pub(super) fn wake_all(&self) {
        for shard in &self.shards {
            // Their places stay theirs until they leave.
            let tasks: Vec<_> = shard.lock().tasks.iter_mut().filter_map(Option::take).collect();
            tasks.into_iter().for_each(TaskRef::wake);
        }
    }

    /// Whether all have ended.
    pub(super) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.lock().count == 0)
    }

    /// How often one was queued again from outside.
    pub(super) fn woken(&self) -> u64 {
        // Ordering: Acquire, so that what is read before it is older.
        self.woken.load(Ordering::Acquire)
    }

    /// Counts one that is about to be queued again.
    pub(super) fn count(&self) {
        // Ordering: Release: who sees it queued finds it counted, as the queue publishes it afterwards.
        self.woken.fetch_add(1, Ordering::Release);
    }

    /// One was not queued after all.
    pub(super) fn uncount(&self) {
        // Ordering: as in `count`.
        self.woken.fetch_sub(1, Ordering::Release);
    }
}

/// Somebody who is no worker polls or drops futures.
pub(super) struct Aside<'a>(&'a unseen::Mutex<Shard>);

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        self.0.lock().count -= 1;
    }
}
