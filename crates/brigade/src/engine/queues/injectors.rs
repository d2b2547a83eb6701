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
//! incomplete entries in front of everything queued, in their order.

use core::cell::Cell;
use std::collections::VecDeque;

use brigade_queue::{Cursor, Injector, ShardedInjector};
use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_task::{Job, Outcome};

use super::local::Local;
use crate::values::{Config, Queueing};

/// The largest number of injectors. Every searching worker looks at each injector, so more injectors would
/// cost idle workers the time they save producers. At most one producer per CPU runs at once.
const MAX_SHARDS: usize = 16;

/// The most jobs taken from the injector at once: enough to amortize two contended writes, few enough to leave half a
/// queue for the jobs they spawn.
pub(in crate::engine) const BATCH: usize = 64;

/// How many completed entries a worker, or the threads off the pool, may leave in queues before a sweep.
pub(in crate::engine) const MAX_STALE: u32 = 64;

/// The injectors of one pool.
pub(in crate::engine) struct Injectors {
    shards: ShardedInjector<Job>,
    front: Front,
}

/// The entries kept by sweeps: older than everything in the shards.
#[derive(Default)]
struct Front {
    kept: Mutex<Kept>,
    /// The number of kept entries; 1 more during a sweep, so that no look misses entries taken out of a
    /// shard.
    len: AtomicUsize,
}

#[derive(Default)]
struct Kept {
    jobs: VecDeque<Job>,
    /// Entries examined by sweeps since the last full pass over `jobs`.
    looks: usize,
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
        Self { shards: ShardedInjector::new(shards), front: Front::default() }
    }

    /// The injector of the calling thread.
    #[inline(always)]
    pub(in crate::engine) fn mine(&self) -> &Injector<Job> {
        self.shards.shard(producer())
    }

    /// Takes a worker's share of the entries kept in front, or else of the first non-empty injector, starting
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
        self.front.refill(local, share).or_else(|| {
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
        self.front.pop().or_else(|| self.shards.pop(cursor))
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
        self.front.sweep(most, || self.shards.pop(&Cursor::default()))
    }
}

/// Drops a completed job, which calls no user code; returns any other job. Counts a job that had to be
/// cancelled for this.
pub(in crate::engine) fn drop_if_stale(job: Job, cancelled: &mut u64) -> Option<Job> {
    match job.drop_if_stale() {
        Ok(outcome) => {
            *cancelled += u64::from(outcome == Outcome::Cancelled);
            None
        }
        Err(job) => Some(job),
    }
}

impl Front {
    #[inline]
    fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `set_len`. A look that finds an injector without the
        // entries popped by a sweep sees the count set before.
        self.len.load(Ordering::Acquire)
    }

    fn set_len(&self, len: usize) {
        // Ordering: Release, as in `len`; the lock orders the writers.
        self.len.store(len, Ordering::Release);
    }

    /// Updates the count after jobs were taken.
    fn left(&self, jobs: &mut VecDeque<Job>) {
        if jobs.is_empty() {
            // Frees the memory of a long queue.
            *jobs = VecDeque::new();
        }
        self.set_len(jobs.len());
    }

    #[inline]
    fn pop(&self) -> Option<Job> {
        if self.len() == 0 { None } else { self.pop_locked() }
    }

    #[cold]
    fn pop_locked(&self) -> Option<Job> {
        let mut kept = self.kept.lock();
        let job = kept.jobs.pop_front();
        self.left(&mut kept.jobs);
        job
    }

    #[inline]
    fn refill(&self, local: &Local, share: Share) -> Option<Job> {
        if self.len() == 0 { None } else { self.refill_locked(local, share) }
    }

    #[cold]
    fn refill_locked(&self, local: &Local, share: Share) -> Option<Job> {
        let jobs = &mut self.kept.lock().jobs;
        let first = jobs.pop_front();
        for _ in 1..share.of(jobs.len() + 1) {
            let Some(job) = jobs.pop_front() else { break };
            if let Err(job) = local.push_again(job) {
                jobs.push_front(job);
                break;
            }
        }
        self.left(jobs);
        first
    }

    /// Drops completed entries: among at most `most` popped entries, and from time to time among the kept
    /// entries.
    fn sweep(&self, most: usize, pop: impl FnMut() -> Option<Job>) -> u64 {
        let mut cancelled = 0;
        let kept = &mut *self.kept.lock();
        // Before the first pop. Nothing is taken from `kept` until the lock is released, so the order is
        // preserved.
        self.set_len(kept.jobs.len() + 1);
        kept.looks += most;
        if kept.looks >= kept.jobs.len() {
            kept.looks = 0;
            for _ in 0..kept.jobs.len() {
                let job = kept.jobs.pop_front();
                kept.jobs.extend(job.and_then(|job| drop_if_stale(job, &mut cancelled)));
            }
        }
        let popped = core::iter::from_fn(pop).take(most);
        kept.jobs.extend(popped.filter_map(|job| drop_if_stale(job, &mut cancelled)));
        self.set_len(kept.jobs.len());
        cancelled
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    fn injectors() -> Injectors {
        Injectors::new(&Config { queueing: Queueing::Shared, ..Config::default() }, 1)
    }

    #[test]
    fn a_sweep_drops_completed_entries_and_keeps_the_order_of_the_others() {
        let (injectors, order) = (injectors(), std::sync::Arc::<Mutex<Vec<usize>>>::default());
        let mut handles = Vec::new();
        for number in 0..100 {
            let order = order.clone();
            let (job, handle) = Job::with_handle(move || order.lock().push(number));
            assert!(injectors.mine().push(job).is_ok());
            handles.push(handle);
        }
        let mut settle = |from: usize, step: usize| {
            let some = handles[from..].iter_mut().step_by(step);
            some.for_each(|handle| _ = handle.settle_if_unclaimed(false));
        };
        settle(0, 2);
        injectors.sweep(60);
        assert_eq!(injectors.len(), 70, "of the oldest 60 half is over");
        settle(0, 3);
        injectors.sweep(60);
        let left: Vec<_> = (0..100).filter(|number| number % 2 > 0 && number % 3 > 0).collect();
        assert_eq!(injectors.len(), left.len());
        let cursor = Cursor::default();
        while let Some(job) = injectors.pop(&cursor) {
            job.run();
        }
        assert_eq!(*order.lock(), left);
        assert!(injectors.is_empty());
    }
}
