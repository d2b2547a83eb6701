//! The traits of queues, measured without a pool.
//!
//! An adapter adds no code: everything is generic and inlined, so a workload calls the queue as a
//! scheduler would. The traits require the common operations of the crates.

use crate::failure::Outcome;

/// The items of deques: a word, as in st3's own benchmark.
pub(crate) type Item = u64;

/// The items of injectors: as large as a job of a pool.
pub(crate) type Job = [u64; 4];

/// Places in a bounded deque; an unbounded deque begins smaller and grows.
pub(crate) const CAPACITY: usize = 256;

/// The most items of a [`Deque::steal_half`]: crossbeam-deque's limit.
pub(crate) const MOST_STOLEN: usize = 32;

/// How many of `count` items [`Deque::steal_half`] takes.
pub(crate) fn half(count: usize) -> usize {
    (count - count / 2).min(MOST_STOLEN)
}

/// The reason why a steal took nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// There was nothing to take.
    Empty,
    /// Another thief held the queue, or was faster.
    Busy,
}

/// A queue with a single owner, and thieves.
pub(crate) trait Deque: Send + Sized + 'static {
    /// A thief's end.
    type Stealer: Clone + Send + 'static;

    /// Queues an item, or returns it if there is no room.
    fn push(&self, item: Item) -> Result<(), Item>;

    /// Takes the owner's next item.
    fn pop(&self) -> Option<Item>;

    /// Makes a thief's end.
    fn stealer(&self) -> Self::Stealer;

    /// Moves the oldest `batch` items of another deque to this deque, or fewer if it gets fewer.
    fn steal(&self, from: &Self::Stealer, batch: usize) -> Result<(), Missed>;

    /// Takes half of the items of another deque, at most [`MOST_STOLEN`]: returns one item and moves the others to this deque.
    fn steal_half(&self, from: &Self::Stealer) -> Result<Item, Missed>;
}

/// A queue shared by all threads.
pub(crate) trait Injector: Send + Sync + 'static {
    /// Queues a job of the producer with this number, or returns it if the queue accepts none.
    fn push(&self, producer: usize, job: Job) -> Result<(), Job>;

    /// Takes the oldest job.
    fn pop(&self) -> Option<Job>;
}

/// Makes an empty queue; a deque has room for [`CAPACITY`] items at least.
pub(crate) type Make<Q> = fn() -> Q;

/// An operation on queues, generic over the queue.
pub(crate) trait VisitQueue {
    /// Runs it with the deques of `make`.
    fn visit<D: Deque>(self, make: Make<D>) -> Outcome;

    /// The same with an injector.
    fn visit_injector<I: Injector>(self, make: Make<I>) -> Outcome;
}
