//! The queues under test, without a pool around them.
//!
//! An adapter adds nothing but a name: everything is generic and inlined, so that a workload calls
//! the queue as a scheduler would. What the crates offer in common is what the traits ask for.

mod brigade;
mod crossbeam;
mod st3;

pub(crate) use self::crossbeam::{CrossbeamFifo, CrossbeamLifo};

/// What deques hold: a word, as st3's own benchmark has it.
pub(crate) type Item = u64;

/// What injectors hold: as large as a job of a pool.
pub(crate) type Job = [u64; 4];

/// Places in a deque that is bounded; one that isn't begins smaller and grows.
pub(crate) const CAPACITY: usize = 256;

/// The most that [`Stealer::steal_half`] takes at a time: what crossbeam-deque does unasked.
const MOST_STOLEN: usize = 32;

/// How many of `count` items [`Stealer::steal_half`] takes.
fn half(count: usize) -> usize {
    (count - count / 2).min(MOST_STOLEN)
}

/// Why a thief comes back with nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// There was nothing to take.
    Empty,
    /// Another thief was at it, or was faster.
    Busy,
}

/// A queue that one thread owns and others steal from.
pub(crate) trait Deque: Send + Sized + 'static {
    /// What others steal with.
    type Stealer: Stealer<Self>;

    /// An empty one, for [`CAPACITY`] items at least.
    fn new() -> Self;

    /// Queues an item, or gives it back if there is no room.
    fn push(&self, item: Item) -> Result<(), Item>;

    /// Takes the item that the owner is to have next.
    fn pop(&self) -> Option<Item>;

    /// Makes a thief's end.
    fn stealer(&self) -> Self::Stealer;
}

/// A thief's end of a deque.
pub(crate) trait Stealer<D>: Clone + Send + 'static {
    /// Moves the oldest `batch` items to `dest`, or fewer if that is all it gets.
    fn steal(&self, dest: &D, batch: usize) -> Result<(), Missed>;

    /// Takes half of the items, at most [`MOST_STOLEN`]: returns one and moves the others to `dest`.
    fn steal_half(&self, dest: &D) -> Result<Item, Missed>;
}

/// A queue that any thread pushes to and pops from.
pub(crate) trait Injector: Send + Sync + 'static {
    /// An empty one.
    fn new() -> Self;

    /// Queues a job of the producer with this number, or gives it back if the queue takes none.
    fn push(&self, producer: usize, job: Job) -> Result<(), Job>;

    /// Takes the oldest job.
    fn pop(&self) -> Option<Job>;
}

/// Which deque it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DequeKind {
    /// `brigade_queue::lifo`.
    BrigadeLifo,
    /// `brigade_queue::fifo`.
    BrigadeFifo,
    /// `st3::lifo`.
    St3Lifo,
    /// `st3::fifo`.
    St3Fifo,
    /// `crossbeam_deque::Worker::new_lifo`.
    CrossbeamLifo,
    /// `crossbeam_deque::Worker::new_fifo`.
    CrossbeamFifo,
}

/// Which injector it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectorKind {
    /// `brigade_queue::Injector`.
    Brigade,
    /// `brigade_queue::ShardedInjector`.
    BrigadeSharded,
    /// `crossbeam_deque::Injector`.
    Crossbeam,
    /// `crossbeam_queue::SegQueue`.
    SegQueue,
}

#[cfg(test)]
mod tests;
