//! What a queue does, without a pool around it.
//!
//! An adapter adds nothing but a name: everything is generic and inlined, so that a workload calls the queue
//! as a scheduler would. What the crates offer in common is what the traits ask for.

/// What deques hold: a word, as st3's own benchmark has it.
pub(crate) type Item = u64;

/// What injectors hold: as large as a job of a pool.
pub(crate) type Job = [u64; 4];

/// Places in a deque that is bounded; one that isn't begins smaller and grows.
pub(crate) const CAPACITY: usize = 256;

/// The most that [`Stealer::steal_half`] takes at a time: what crossbeam-deque does unasked.
pub(crate) const MOST_STOLEN: usize = 32;

/// How many of `count` items [`Stealer::steal_half`] takes.
pub(crate) fn half(count: usize) -> usize {
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
    /// Queues a job of the producer with this number, or gives it back if the queue takes none.
    fn push(&self, producer: usize, job: Job) -> Result<(), Job>;

    /// Takes the oldest job.
    fn pop(&self) -> Option<Job>;
}

/// Makes an empty queue; a deque has room for [`CAPACITY`] items at least.
pub(crate) type Make<Q> = fn() -> Q;

/// What is done with a deque, whichever it is.
pub(crate) trait VisitDeque {
    /// What comes of it.
    type Output;

    /// Does it with deques that `make` makes.
    fn visit<D: Deque>(self, make: Make<D>) -> Self::Output;
}

/// What is done with an injector, whichever it is.
pub(crate) trait VisitInjector {
    /// What comes of it.
    type Output;

    /// Does it with an injector that `make` makes.
    fn visit<I: Injector>(self, make: Make<I>) -> Self::Output;
}
