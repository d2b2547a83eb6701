//! The queues for jobs from outside, and for overflowing jobs of the workers' own queues.
//!
//! Each producing thread uses one of a few injectors ([`ShardedInjector`] says why), and workers take from
//! all in turn. Jobs of the same producer keep their order. Jobs of different producers have no order, except
//! with [`Queueing::Shared`], which has a single injector.
//!
//! `brigade-lab submit --pattern contended` and `throughput --amplification 1` measure it.
//!
//! **Completed entries.** A job run by its joiner or dropped by its canceller has ended, but its entry stays
//! in the queue, with its memory, until it is popped. If every worker is inside a job that joins, no worker
//! pops, and such entries would accumulate. So [`Injectors::sweep`] takes the oldest entries out, and keeps
//! incomplete entries in front of everything queued, in their order. The workers' own queues and mailboxes are swept likewise.
//!
//! **Jobs without a permit.** An eviction looks for the oldest job with a permit, and keeps in front all other
//! jobs that it finds first, also jobs of the workers' queues. The front's lock is held from before the first is
//! taken until the last is kept, and its length counts one job more, so each job is in some queue for every look
//! that begins with the injectors and ends with the front. A look that begins with the front may miss a job moved
//! out of a worker's queue: the eviction then wakes a worker, as for a job just queued, and the end of a pool
//! excludes it by the gate.

use core::cell::Cell;

use brigade_queue::{Cursor, Injector, ShardedInjector};
use brigade_task::Job;

use super::lane::Lane;
use super::local::Local;
use crate::values::{Config, Queueing};

/// The largest number of injectors, and of lists of futures. Every searching worker looks at each injector, so more injectors would
/// cost idle workers the time they save producers. At most one producer per CPU runs at once.
pub(in crate::engine) const MAX_SHARDS: usize = 16;

/// The most jobs taken from the injector at once: enough to amortize two contended writes, few enough to leave half a
/// queue for the jobs they spawn.
pub(in crate::engine) const BATCH: usize = 64;

/// The number of entries that a sweep looks at in a queue. Half as many completed entries, left in queues by a worker or off the pool,
/// bring a sweep, so that sweeps outpace new entries.
pub(in crate::engine) const SWEEP: usize = 128;

/// The injectors of one pool.
pub(in crate::engine) struct Injectors {
    pub(in crate::engine) shards: ShardedInjector<Job>,
    /// The entries kept by sweeps, which are older than everything in the shards, and by evictions.
    pub(in crate::engine) front: Lane,
}

/// A worker's share of the queued jobs.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Share {
    /// The number of parts into which the queued jobs are divided.
    pub(in crate::engine) parts: usize,
    /// The largest number of jobs in a share.
    pub(in crate::engine) most: usize,
}

impl Share {
    /// The size of the share of `waiting` jobs.
    fn of(self, waiting: usize) -> usize {
        (waiting / self.parts + 1).min(self.most)
    }
}

brigade_sync::unmodelled::thread_local! {
    /// The number of this thread as a producer; 0 before the first submission from outside.
    static PRODUCER: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of this thread as a producer; new producers get new numbers.
#[inline(always)]
pub(in crate::engine) fn producer() -> usize {
    match PRODUCER.with(Cell::get) {
        0 => new_producer(),
        number => number,
    }
}

#[cfg(not(any(brigade_loom, brigade_seeded)))]
#[cold]
fn new_producer() -> usize {
    use brigade_sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    PRODUCER.with(|cell| cell.set(number));
    number
}

/// Loom has no static atomics; no model needs a producer.
#[cfg(brigade_loom)]
fn new_producer() -> usize {
    1
}

/// The same number in each run with the same seed.
#[cfg(brigade_seeded)]
fn new_producer() -> usize {
    brigade_sync::seeded::number() + 1
}

impl Injectors {
    /// Makes a single injector if all jobs have a common order; otherwise two per CPU, so that producers
    /// running at once rarely share an injector.
    pub(in crate::engine) fn new(config: &Config, cpus: usize) -> Self {
        let shards = match config.queueing {
            Queueing::Shared => 1,
            Queueing::Stealing => (2 * cpus).min(MAX_SHARDS),
        };
        Self { shards: ShardedInjector::new(shards), front: Lane::default() }
    }

    /// The injector of the calling thread.
    #[inline(always)]
    pub(in crate::engine) fn mine(&self) -> &Injector<Job> {
        self.shards.shard(producer())
    }

    /// Takes the oldest job kept in front, or else a worker's share of the first non-empty injector, starting
    /// after `cursor`. Returns a job and queues the rest on `local`. `cursor` then names that injector.
    #[inline]
    pub(in crate::engine) fn refill(
        &self,
        local: &Local,
        cursor: &Cursor,
        share: Share,
    ) -> Option<Job> {
        if local.is_shared() {
            return self.pop(cursor);
        }
        self.pop_kept().or_else(|| {
            self.shards.take_turns(cursor, |shard| {
                let waiting = shard.len();
                if waiting == 0 { None } else { local.refill(shard, share.of(waiting)) }
            })
        })
    }

    /// Takes the oldest job kept in front, or else the oldest job of the first non-empty injector, starting
    /// after `cursor`.
    #[inline]
    pub(in crate::engine) fn pop(&self, cursor: &Cursor) -> Option<Job> {
        self.pop_kept().or_else(|| self.shards.pop(cursor))
    }

    #[inline]
    fn pop_kept(&self) -> Option<Job> {
        if self.front.len() == 0 { None } else { self.front.pop(None, &|_| true) }
    }

    /// Takes the oldest job of a pool with a single injector, if nothing is kept in front.
    #[inline(always)]
    pub(in crate::engine) fn pop_shared(&self) -> Option<Job> {
        if self.front.len() == 0 { self.shards.shard(0).pop() } else { None }
    }

    /// Whether nothing is queued.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        // The shards first, because a sweep counts an entry before it takes the entry out.
        self.shards.is_empty() && self.front.len() == 0
    }

    /// The number of queued jobs.
    pub(in crate::engine) fn len(&self) -> usize {
        self.shards.len() + self.front.len()
    }

    /// The number of jobs ever queued.
    pub(in crate::engine) fn pushed(&self) -> u64 {
        self.shards.pushed()
    }

    /// Accepts nothing from outside any more.
    pub(in crate::engine) fn close(&self) {
        self.shards.close();
    }

    /// Whether an injector is closed: the pool is closed, or is being closed.
    pub(in crate::engine) fn is_closing(&self) -> bool {
        self.shards.shards().iter().any(Injector::is_closed)
    }

    /// Looks at `most` of the oldest entries and drops completed entries. Returns the number of jobs
    /// cancelled by this.
    pub(in crate::engine) fn sweep(&self, most: usize) -> u64 {
        let mut left = most;
        self.front.sweep(None, most, &mut || {
            left = left.checked_sub(1)?;
            self.shards.pop(&Cursor::default())
        })
    }
}
