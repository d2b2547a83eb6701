//! brigade-queue: one ring in two orders, and the injector of its pools.

use brigade_queue::{Cursor, Order, ShardedInjector, StealError};

use crate::target::queue::{Deque, Injector, Item, Job, Missed, Stealer, half};

/// More than the producers of a run, so that none share a shard.
pub(super) const SHARDS: usize = 8;

/// Either ring: the order is a type parameter in brigade-queue.
type Ring<O> = brigade_queue::Worker<Item, O>;

impl<O: Order + 'static> Deque for Ring<O> {
    type Stealer = brigade_queue::Stealer<Item, O>;

    #[inline]
    fn push(&self, item: Item) -> Result<(), Item> {
        Ring::push(self, item)
    }

    #[inline]
    fn pop(&self) -> Option<Item> {
        Ring::pop(self)
    }

    fn stealer(&self) -> Self::Stealer {
        Ring::stealer(self)
    }
}

impl<O: Order + 'static> Stealer<Ring<O>> for brigade_queue::Stealer<Item, O> {
    #[inline]
    fn steal(&self, dest: &Ring<O>, batch: usize) -> Result<(), Missed> {
        self.steal(dest, |count| count.min(batch))?;
        Ok(())
    }

    #[inline]
    fn steal_half(&self, dest: &Ring<O>) -> Result<Item, Missed> {
        Ok(self.steal_and_pop(dest, half)?.0)
    }
}

impl From<StealError> for Missed {
    #[inline]
    fn from(error: StealError) -> Self {
        match error {
            StealError::Empty => Missed::Empty,
            StealError::Busy => Missed::Busy,
        }
    }
}

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
        // From the last on, so that the first shard comes first.
        ShardedInjector::pop(self, &Cursor::at(SHARDS - 1))
    }
}
