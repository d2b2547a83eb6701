//! Several injectors side by side, so producers do not contend.
//!
//! Two threads pushing to the same queue slow each other down by more than the cost of a push: the cache line with the
//! tail travels between them. Here each producer has a separate queue, and consumers take from each in turn.
//! `brigade-lab queue --pattern injector --producers 2` measures both.

use alloc::boxed::Box;
use core::cell::Cell;

use super::list::Injector;

/// Several [`Injector`]s, for many producers.
///
/// FIFO for each producer with a fixed shard; there is no order between producers.
///
/// ```
/// use brigade_queue::{Cursor, ShardedInjector};
/// let injector = ShardedInjector::new(2);
/// injector.shard(0).push("ours")?;
/// injector.shard(1).push("theirs")?;
/// injector.shard(0).push("ours again")?;
/// let cursor = Cursor::default();
/// let all: Vec<_> = std::iter::from_fn(|| injector.pop(&cursor)).collect();
/// assert_eq!(all, ["theirs", "ours", "ours again"], "the shards take turns");
/// # Ok::<(), &str>(()) // A closed injector returns the item.
/// ```
pub struct ShardedInjector<T> {
    /// Their number is a power of two.
    shards: Box<[Injector<T>]>,
}

/// The shard in which a consumer of a [`ShardedInjector`] found an item last; each consumer has a cursor.
#[derive(Debug, Default)]
pub struct Cursor {
    last: Cell<usize>,
}

impl Cursor {
    /// Creates a cursor at this shard, any number; the search begins with the shard after it.
    ///
    /// Consumers that start at different shards contend less.
    pub fn at(shard: usize) -> Self {
        Self { last: Cell::new(shard) }
    }
}

impl<T> ShardedInjector<T> {
    /// Creates this many empty injectors, rounded up to a power of two, at least 1.
    ///
    /// A search looks at each of them, so further injectors save producers time at the expense of consumers. With twice as
    /// many as there are processors few producers contend.
    ///
    /// # Panics
    /// If `shards` is over 2¹⁶.
    #[track_caller]
    pub fn new(shards: usize) -> Self {
        assert!(shards <= 1 << 16, "at most 2^16 injectors, not {shards}; ask for fewer");
        Self { shards: (0..shards.max(1).next_power_of_two()).map(|_| Injector::new()).collect() }
    }

    /// Returns the injector of the producer with this number, any number; numbers with different low bits have
    /// different injectors.
    #[inline(always)]
    pub fn shard(&self, producer: usize) -> &Injector<T> {
        &self.shards[producer & (self.shards.len() - 1)]
    }

    /// Returns all injectors, in the order of their numbers.
    pub fn shards(&self) -> &[Injector<T>] {
        &self.shards
    }

    /// Takes the oldest item of the first non-empty injector, beginning after `cursor`.
    pub fn pop(&self, cursor: &Cursor) -> Option<T> {
        self.take_turns(cursor, Injector::pop)
    }

    /// Calls `take` with each injector, beginning after `cursor`, until it returns something; the cursor is then at that
    /// injector.
    pub fn take_turns<R>(
        &self,
        cursor: &Cursor,
        mut take: impl FnMut(&Injector<T>) -> Option<R>,
    ) -> Option<R> {
        let mask = self.shards.len() - 1;
        let last = cursor.last.get();
        // A loop and not `find_map`, whose closure may be compiled as a separate function: workers look here often.
        for step in 1..=self.shards.len() {
            let at = last.wrapping_add(step) & mask;
            if let Some(taken) = take(&self.shards[at]) {
                cursor.last.set(at);
                return Some(taken);
            }
        }
        None
    }

    /// Returns whether each injector was empty, in the order of the shards.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(Injector::is_empty)
    }

    /// Returns the number of queued items, counted one injector after the other; never negative.
    pub fn len(&self) -> usize {
        self.shards.iter().map(Injector::len).sum()
    }

    /// Returns the number of items ever pushed.
    pub fn pushed(&self) -> u64 {
        self.shards.iter().map(Injector::pushed).sum()
    }

    /// Closes each injector in turn; meanwhile some producers may be rejected and others not.
    pub fn close(&self) {
        self.shards.iter().for_each(Injector::close);
    }
}

brigade_sync::opaque!([T] ShardedInjector<T>: shards);
