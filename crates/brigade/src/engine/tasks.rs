//! The futures that a pool has accepted and that have not ended: those that wait, for whatever, are nowhere else.
//!
//! They are here so that a pool that ends can cancel them, and a handle can wake the one that it cancels. Each has a number
//! as long as it lives. No code of a user's is called here: the wakers are the tasks' own, and woken outside of the lock.

use std::task::Waker;

use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_sync::{CachePadded, Mutex};

use super::inlet::producer;

/// How many threads may enter a future at once without waiting for each other.
const SHARDS: usize = if cfg!(brigade_loom) { 1 } else { 8 };

/// The futures of one pool.
pub(crate) struct Tasks {
    /// Boxed: who builds a pool has it on a stack that may be a small one, and in a build without optimisation several
    /// times.
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    /// How often one of them was woken from outside and queued for that: not accepted once more.
    woken: AtomicU64,
    /// Held by who queues a job in a closed pool from outside, and by who ends one.
    pub(super) gate: Mutex<()>,
}

#[derive(Default)]
struct Shard {
    wakers: Vec<Option<Waker>>,
    /// Where there is none.
    vacant: Vec<usize>,
    /// Futures that have been entered and not left, whether their wakers are still here or not.
    entered: usize,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| CachePadded::default()).collect(),
            woken: AtomicU64::new(0),
            gate: Mutex::default(),
        }
    }

    /// Enters a future; returns its number, which is not 0.
    pub(crate) fn enter(&self, waker: Waker) -> u32 {
        let here = producer() % SHARDS;
        let mut shard = self.shards[here].lock();
        shard.entered += 1;
        let index = shard.vacant.pop().unwrap_or(shard.wakers.len());
        match shard.wakers.get_mut(index) {
            Some(place) => *place = Some(waker),
            None => shard.wakers.push(Some(waker)),
        }
        match u32::try_from(index * SHARDS + here + 1) {
            Ok(number) => number,
            Err(_) => panic!("a pool has at most 2^32 futures"),
        }
    }

    fn place(&self, number: u32) -> (&Mutex<Shard>, usize) {
        let number = number as usize - 1;
        (&self.shards[number % SHARDS], number / SHARDS)
    }

    /// Forgets a future.
    pub(crate) fn leave(&self, number: u32) {
        let (shard, index) = self.place(number);
        let mut shard = shard.lock();
        shard.entered -= 1;
        let waker = shard.wakers.get_mut(index).and_then(Option::take);
        if waker.is_some() {
            shard.vacant.push(index);
        }
        drop(shard);
        // It may be the last that keeps the future's memory.
        drop(waker);
    }

    /// Wakes a future, if it has not ended.
    pub(crate) fn wake(&self, number: u32) {
        let (shard, index) = self.place(number);
        let waker = shard.lock().wakers.get(index).cloned().flatten();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Wakes them all, in a pool where that ends them.
    pub(super) fn wake_all(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let wakers = core::mem::take(&mut shard.wakers);
            shard.vacant.clear();
            drop(shard);
            wakers.into_iter().flatten().for_each(Waker::wake);
        }
    }

    /// Whether all have ended.
    pub(super) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.lock().entered == 0)
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
