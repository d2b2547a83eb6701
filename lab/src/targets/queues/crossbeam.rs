//! crossbeam: the growing deque in two orders, the injector, and `SegQueue`, which is built like the
//! injector.

use crossbeam_deque::{Steal, Worker};
use crossbeam_queue::SegQueue;

use crate::target::queue::{Deque, Injector, Item, Job, MOST_STOLEN, Missed};

impl Deque for Worker<Item> {
    type Stealer = crossbeam_deque::Stealer<Item>;

    #[inline]
    fn push(&self, item: Item) -> Result<(), Item> {
        self.push(item);
        Ok(())
    }

    #[inline]
    fn pop(&self) -> Option<Item> {
        self.pop()
    }

    fn stealer(&self) -> Self::Stealer {
        self.stealer()
    }

    #[inline]
    fn steal(&self, from: &Self::Stealer, batch: usize) -> Result<(), Missed> {
        stolen(from.steal_batch_with_limit(self, batch))
    }

    #[inline]
    fn steal_half(&self, from: &Self::Stealer) -> Result<Item, Missed> {
        stolen(from.steal_batch_with_limit_and_pop(self, MOST_STOLEN))
    }
}

/// crossbeam's answer to a thief as a result.
#[inline]
fn stolen<T>(steal: Steal<T>) -> Result<T, Missed> {
    match steal {
        Steal::Success(item) => Ok(item),
        Steal::Empty => Err(Missed::Empty),
        Steal::Retry => Err(Missed::Busy),
    }
}

impl Injector for crossbeam_deque::Injector<Job> {
    #[inline]
    fn push(&self, _producer: usize, job: Job) -> Result<(), Job> {
        self.push(job);
        Ok(())
    }

    #[inline]
    fn pop(&self) -> Option<Job> {
        loop {
            match stolen(self.steal()) {
                Ok(job) => return Some(job),
                Err(Missed::Empty) => return None,
                Err(Missed::Busy) => {}
            }
        }
    }
}

impl Injector for SegQueue<Job> {
    #[inline]
    fn push(&self, _producer: usize, job: Job) -> Result<(), Job> {
        self.push(job);
        Ok(())
    }

    #[inline]
    fn pop(&self) -> Option<Job> {
        self.pop()
    }
}
