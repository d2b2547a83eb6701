//! Where work comes in from outside: injectors, each with its own producers.
//!
//! Each producing thread keeps to one of a few injectors ([`ShardedInjector`] says why), and workers take from each
//! in turn. The order of one producer's jobs is kept; there is none between producers except where there is one
//! injector, which is what [`Queueing::Shared`] has.
//!
//! `brigade-lab submit --pattern contended` and `throughput --amplification 1` measure it.

use core::cell::Cell;

use brigade_queue::{Cursor, Injector, ShardedInjector};
use brigade_task::Job;

use super::local::Local;
use crate::config::{Config, Queueing};

/// The most injectors. Each one is looked at by whoever looks for work, so more would cost idle workers
/// what they save producers; producers that run at once are as many as processors at most.
const MAX_SHARDS: usize = if cfg!(brigade_loom) { 2 } else { 16 };

/// Where work comes in: some injectors.
pub(super) struct Inlet(ShardedInjector<Job>);

thread_local! {
    /// The number of this thread among those that ever submitted from outside, plus one; 0 before it did.
    static PRODUCER: Cell<usize> = const { Cell::new(0) };
}

/// A number that this thread keeps and its neighbours in time do not have.
#[inline(always)]
pub(super) fn producer() -> usize {
    match PRODUCER.get() {
        0 => new_producer(),
        number => number,
    }
}

#[cfg(not(brigade_loom))]
#[cold]
fn new_producer() -> usize {
    use brigade_sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    PRODUCER.set(number);
    number
}

/// A model has no static atomics; its threads are one producer.
#[cfg(brigade_loom)]
fn new_producer() -> usize {
    1
}

impl Inlet {
    /// One injector if there is to be one order, else two for each processor: of those producers that run
    /// at once few then meet.
    pub(super) fn new(config: &Config, cpus: usize) -> Self {
        let shards = match config.queueing {
            Queueing::Shared => 1,
            Queueing::Stealing => (2 * cpus).min(MAX_SHARDS),
        };
        Self(ShardedInjector::new(shards))
    }

    /// The injector of the calling thread.
    #[inline(always)]
    fn mine(&self) -> &Injector<Job> {
        self.0.shard(producer())
    }

    /// Accepts a job, or gives it back if the pool is closed.
    #[inline(always)]
    pub(super) fn push(&self, job: Job) -> Result<(), Job> {
        self.mine().push(job)
    }

    /// Accepts several jobs, or gives back those that came too late.
    pub(super) fn push_batch(&self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        self.mine().push_batch(jobs)
    }

    /// Takes a job that the pool has accepted, closed or not.
    pub(super) fn push_accepted(&self, job: Job) {
        self.mine().push_accepted(job);
    }

    /// Takes several jobs that the pool has accepted, closed or not.
    pub(super) fn push_batch_accepted(&self, jobs: Vec<Job>) {
        self.mine().push_batch_accepted(jobs);
    }

    /// Takes the older half of a worker's queue; returns how many jobs.
    pub(super) fn take_overflow(&self, local: &Local) -> usize {
        local.overflow_to(self.mine())
    }

    /// Takes a worker's share from the first injector that has work, from the one after `cursor` on, which
    /// then names that one: returns one job and queues the others on `local`.
    pub(super) fn refill(
        &self,
        local: &Local,
        cursor: &Cursor,
        share: impl Fn(usize) -> usize,
    ) -> Option<Job> {
        self.0.take_turns(cursor, |shard| {
            let waiting = shard.len();
            if waiting == 0 { None } else { local.refill(shard, share(waiting)) }
        })
    }

    /// Takes the oldest job of the first injector that has one, from the one after `cursor` on.
    pub(super) fn pop(&self, cursor: &Cursor) -> Option<Job> {
        self.0.pop(cursor)
    }

    /// Whether nothing is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts what is queued.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Counts what was ever queued.
    pub(super) fn pushed(&self) -> u64 {
        self.0.pushed()
    }

    /// Accepts nothing from outside any more.
    pub(super) fn close(&self) {
        self.0.close();
    }

    /// Whether some injector accepts nothing any more: the pool is closed, or is just being so.
    pub(super) fn is_closing(&self) -> bool {
        self.0.shards().iter().any(Injector::is_closed)
    }
}
