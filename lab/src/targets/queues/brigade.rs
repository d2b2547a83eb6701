//! brigade-queue: the injector of the pools, and an injector with shards.

use brigade_queue::{Cursor, ShardedInjector};

use crate::target::queue::{Injector, Job};

/// More than the producers of a run, so none share a shard.
pub(super) const SHARDS: usize = 8;

impl Injector for brigade_queue::Injector<Job> {
    #[inline]
    fn push(&self, _producer: usize, job: Job) -> Result<(), Job> {
        brigade_queue::Injector::push(self, job)
    }

    #[inline]
    fn pop(&self) -> Option<Job> {
        brigade_queue::Injector::pop(self)
    }
}

impl Injector for ShardedInjector<Job> {
    #[inline]
    fn push(&self, producer: usize, job: Job) -> Result<(), Job> {
        self.shard(producer).push(job)
    }

    #[inline]
    fn pop(&self) -> Option<Job> {
        // From the last on, so the first shard comes first.
        ShardedInjector::pop(self, &Cursor::at(SHARDS - 1))
    }
}
