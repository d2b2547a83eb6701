//! crossbeam: the two orders of its deque, which grows, its injector, and the queue of its own that
//! the injector is a relative of.

use crossbeam_deque::Steal;
use crossbeam_queue::SegQueue;

use super::{Deque, Injector, Item, Job, MOST_STOLEN, Missed, Stealer};

/// crossbeam's deque, whose order is a value; here it is a type, as everybody else has it.
pub(crate) struct Crossbeam<const FIFO: bool>(crossbeam_deque::Worker<Item>);

/// The owner pops the newest.
pub(crate) type CrossbeamLifo = Crossbeam<false>;
/// The owner pops the oldest.
pub(crate) type CrossbeamFifo = Crossbeam<true>;

impl<const FIFO: bool> Deque for Crossbeam<FIFO> {
    type Stealer = crossbeam_deque::Stealer<Item>;

    fn new() -> Self {
        let new = match FIFO {
            true => crossbeam_deque::Worker::new_fifo,
            false => crossbeam_deque::Worker::new_lifo,
        };
        Crossbeam(new())
    }

    #[inline]
    fn push(&self, item: Item) -> Result<(), Item> {
        self.0.push(item);
        Ok(())
    }

    #[inline]
    fn pop(&self) -> Option<Item> {
        self.0.pop()
    }

    fn stealer(&self) -> Self::Stealer {
        self.0.stealer()
    }
}

impl<const FIFO: bool> Stealer<Crossbeam<FIFO>> for crossbeam_deque::Stealer<Item> {
    #[inline]
    fn steal(&self, dest: &Crossbeam<FIFO>, batch: usize) -> Result<(), Missed> {
        stolen(self.steal_batch_with_limit(&dest.0, batch))
    }

    #[inline]
    fn steal_half(&self, dest: &Crossbeam<FIFO>) -> Result<Item, Missed> {
        stolen(self.steal_batch_with_limit_and_pop(&dest.0, MOST_STOLEN))
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
    fn new() -> Self {
        crossbeam_deque::Injector::new()
    }

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
    fn new() -> Self {
        SegQueue::new()
    }

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
