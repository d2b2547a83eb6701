//! Several injectors side by side, so that producers stay out of each other's way.
//!
//! Two threads that push to one queue slow each other down more than either works: the line with the queue's tail
//! has to travel between them. Here each keeps to a queue of its own, and consumers take from each in turn.
//! `brigade-lab queue --pattern injector --producers 2` measures both.

use alloc::boxed::Box;
use core::cell::Cell;
use core::fmt;

use super::Injector;
use crate::ring::{IntoIter, Limit, Order, Worker};

/// Several [`Injector`]s, for many producers.
///
/// FIFO for each producer that keeps to its number; there is no order between producers.
///
/// ```
/// use brigade_queue::{Cursor, ShardedInjector};
/// let injector = ShardedInjector::new(2);
/// injector.shard(0).push("ours").unwrap();
/// injector.shard(1).push("theirs").unwrap();
/// injector.shard(0).push("ours again").unwrap();
/// let cursor = Cursor::default();
/// let all: Vec<_> = std::iter::from_fn(|| injector.pop(&cursor)).collect();
/// assert_eq!(all, ["theirs", "ours", "ours again"], "the shards take turns");
/// ```
pub struct ShardedInjector<T> {
    /// A power of two of them.
    shards: Box<[Injector<T>]>,
}

/// Where a consumer of a [`ShardedInjector`] found something last; each consumer has one.
#[derive(Debug, Default)]
pub struct Cursor(Cell<usize>);

impl Cursor {
    /// A cursor at this injector, any number: the one after it is looked at first. Consumers that start apart meet
    /// less.
    pub fn at(shard: usize) -> Self {
        Self(Cell::new(shard))
    }
}

impl<T> ShardedInjector<T> {
    /// Makes this many empty injectors, rounded up to a power of two, at least one.
    ///
    /// Each is looked at by whoever looks for work, so more of them cost consumers what they save producers; twice
    /// as many as there are processors let few producers meet.
    ///
    /// # Panics
    /// If there are more than 2¹⁶.
    pub fn new(shards: usize) -> Self {
        assert!(shards <= 1 << 16, "at most 2^16 injectors, not {shards}; ask for fewer");
        Self { shards: (0..shards.max(1).next_power_of_two()).map(|_| Injector::new()).collect() }
    }

    /// The injector of the producer with this number, any number: those that differ in the low bits are apart.
    #[inline(always)]
    pub fn shard(&self, producer: usize) -> &Injector<T> {
        &self.shards[producer & (self.shards.len() - 1)]
    }

    /// All of them, in the order of their numbers.
    pub fn shards(&self) -> &[Injector<T>] {
        &self.shards
    }

    /// Takes the oldest item of the first injector that has one, from the one after `cursor` on.
    pub fn pop(&self, cursor: &Cursor) -> Option<T> {
        self.take_turns(cursor, Injector::pop)
    }

    /// Takes several items of the first injector that has any, from the one after `cursor` on, as
    /// [`Injector::pop_batch_into`] does.
    pub fn pop_batch_into<O: Order>(
        &self,
        cursor: &Cursor,
        worker: &Worker<T, O>,
        limit: Limit,
    ) -> Option<T> {
        self.take_turns(cursor, |shard| shard.pop_batch_into(worker, limit))
    }

    /// Lets each injector `take`, from the one after `cursor` on, until one yields something; the cursor then is at
    /// that one.
    pub fn take_turns<R>(
        &self,
        cursor: &Cursor,
        mut take: impl FnMut(&Injector<T>) -> Option<R>,
    ) -> Option<R> {
        let mask = self.shards.len() - 1;
        (1..=self.shards.len()).find_map(|step| {
            let at = cursor.0.get().wrapping_add(step) & mask;
            take(&self.shards[at]).inspect(|_| cursor.0.set(at))
        })
    }

    /// Whether nothing was queued, one after the other.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(Injector::is_empty)
    }

    /// Counts what was queued, one after the other; never negative.
    pub fn len(&self) -> usize {
        self.shards.iter().map(Injector::len).sum()
    }

    /// Counts what was ever pushed.
    pub fn pushed(&self) -> u64 {
        self.shards.iter().map(Injector::pushed).sum()
    }

    /// Closes each injector, one after the other: meanwhile one producer may be refused and another not.
    pub fn close(&self) {
        self.shards.iter().for_each(Injector::close);
    }

    /// Reopens each injector, one after the other.
    pub fn reopen(&self) {
        self.shards.iter().for_each(Injector::reopen);
    }

    /// Whether all of them are closed.
    pub fn is_closed(&self) -> bool {
        self.shards.iter().all(Injector::is_closed)
    }
}

impl<T> fmt::Debug for ShardedInjector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.shards).finish()
    }
}

impl<T> IntoIterator for ShardedInjector<T> {
    type Item = T;
    type IntoIter = IntoIter<(Self, Cursor)>;

    /// Pops what is queued, the shards taking turns.
    fn into_iter(self) -> IntoIter<(Self, Cursor)> {
        IntoIter((self, Cursor::default()))
    }
}
