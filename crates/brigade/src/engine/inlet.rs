//! Where work comes in from outside: injectors, each with its own producers.
//!
//! A pool has two of these. One of them is open; the other is empty, except while somebody waits for what was accepted
//! before: `idle/README.md` says how they change places.
//!
//! Each producing thread keeps to one of a few injectors ([`ShardedInjector`] says why), and workers take from each
//! in turn. The order of one producer's jobs is kept; there is none between producers except where there is one
//! injector, which is what [`Queueing::Shared`] has.
//!
//! `brigade-lab submit --pattern contended` and `throughput --amplification 1` measure it.

use core::cell::Cell;

use brigade_queue::{Cursor, Injector, ShardedInjector};
use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_task::Job;

use super::local::Local;
use crate::config::{Config, Queueing};

/// The most injectors. Each one is looked at by whoever looks for work, so more would cost idle workers
/// what they save producers; producers that run at once are as many as processors at most.
const MAX_SHARDS: usize = if cfg!(brigade_loom) { 2 } else { 16 };

/// One of a pool's two inlets: some injectors.
pub(super) struct Inlet {
    injectors: ShardedInjector<Job>,
    /// How much each of them had accepted when it was last sealed.
    sealed: Box<[AtomicU64]>,
}

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
    use brigade_sync::atomic::AtomicUsize;
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
        let injectors = ShardedInjector::new(shards);
        let sealed = injectors.shards().iter().map(|_| AtomicU64::new(0)).collect();
        Self { injectors, sealed }
    }

    /// The injector of the calling thread.
    #[inline(always)]
    fn mine(&self) -> &Injector<Job> {
        self.injectors.shard(producer())
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
        self.injectors.take_turns(cursor, |shard| {
            let waiting = shard.len();
            if waiting == 0 { None } else { local.refill(shard, share(waiting)) }
        })
    }

    /// Takes the oldest job of the first injector that has one, from the one after `cursor` on.
    pub(super) fn pop(&self, cursor: &Cursor) -> Option<Job> {
        self.injectors.pop(cursor)
    }

    /// Whether nothing is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.injectors.is_empty()
    }

    /// Counts what is queued.
    pub(super) fn len(&self) -> usize {
        self.injectors.len()
    }

    /// Counts what was ever queued.
    pub(super) fn pushed(&self) -> u64 {
        self.injectors.pushed()
    }

    /// Accepts nothing from outside, for good or until it is reopened.
    pub(super) fn close(&self) {
        self.injectors.close();
        for (sealed, injector) in self.sealed.iter().zip(self.injectors.shards()) {
            // Ordering: Relaxed: who looks at it has learnt of the phase, which begins afterwards.
            sealed.store(injector.pushed(), Ordering::Relaxed);
        }
    }

    /// Accepts work from outside again.
    pub(super) fn reopen(&self) {
        self.injectors.reopen();
    }

    /// Whether somebody has taken all that was there when it was closed last.
    pub(super) fn has_given_out_what_was_sealed(&self) -> bool {
        let given_out = |(sealed, injector): (&AtomicU64, &Injector<Job>)| {
            // Ordering: Relaxed, as in `close`.
            injector.popped() >= sealed.load(Ordering::Relaxed)
        };
        self.sealed.iter().zip(self.injectors.shards()).all(given_out)
    }
}
