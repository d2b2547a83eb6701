//! brigade-queue: one ring in two orders, and the injector of its pools.

use brigade_queue::{Limit, Order, StealError};

use super::{CAPACITY, Deque, Injector, Item, Job, Missed, Stealer, half};

/// Either ring: the order is a type parameter of brigade's own.
type Ring<O> = brigade_queue::Worker<Item, O>;

impl<O: Order + 'static> Deque for Ring<O> {
    type Stealer = brigade_queue::Stealer<Item, O>;

    fn new() -> Self {
        Ring::new(CAPACITY)
    }

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
        let first = self.steal_into(dest, Limit::AtMost(batch))?;
        // With no room for all, fewer are taken; the first one always has a place then.
        let _ = dest.push(first);
        Ok(())
    }

    #[inline]
    fn steal_half(&self, dest: &Ring<O>) -> Result<Item, Missed> {
        Ok(self.steal_into(dest, Limit::AtMost(half(self.len())))?)
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
    fn new() -> Self {
        brigade_queue::Injector::new()
    }

    #[inline]
    fn push(&self, job: Job) -> Result<(), Job> {
        brigade_queue::Injector::push(self, job)
    }

    #[inline]
    fn pop(&self) -> Option<Job> {
        brigade_queue::Injector::pop(self)
    }
}
