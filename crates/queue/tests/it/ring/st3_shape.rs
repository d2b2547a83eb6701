//! Code written for the crate `st3` compiles with this crate's name, and behaves as documented there.

use std::iter::FusedIterator;
use std::panic::{RefUnwindSafe, UnwindSafe};

use brigade_queue::{StealError, fifo, lifo};

/// The interface that users of st3 write for both of its queues.
trait Queue<T>: Send + Sized {
    type Thief: Thief<T, Own = Self>;

    fn with_capacity(capacity: usize) -> Self;
    fn push(&self, item: T) -> Result<(), T>;
    fn pop(&self) -> Option<T>;
    fn thief(&self) -> Self::Thief;
    fn thief_ref(&self) -> &Self::Thief;
    fn drained(&self, count: fn(usize) -> usize) -> Result<Vec<T>, StealError>;
    fn extended(&self, items: Vec<T>);
    fn counts(&self) -> (usize, usize, bool);
}

trait Thief<T>: Clone + Send + Sync + Eq {
    type Own: Queue<T>;

    fn steal(&self, own: &Self::Own, count: fn(usize) -> usize) -> Result<usize, StealError>;
    fn steal_and_pop(&self, own: &Self::Own) -> Result<T, StealError>;
}

macro_rules! implement_for {
    ($order:ident) => {
        impl<T: Send> Queue<T> for $order::Worker<T> {
            type Thief = $order::Stealer<T>;

            fn with_capacity(capacity: usize) -> Self {
                Self::new(capacity)
            }
            fn push(&self, item: T) -> Result<(), T> {
                self.push(item)
            }
            fn pop(&self) -> Option<T> {
                self.pop()
            }
            fn thief(&self) -> Self::Thief {
                self.stealer()
            }
            fn thief_ref(&self) -> &Self::Thief {
                self.stealer_ref()
            }
            fn drained(&self, count: fn(usize) -> usize) -> Result<Vec<T>, StealError> {
                Ok(self.drain(count)?.collect())
            }
            fn extended(&self, items: Vec<T>) {
                self.extend(items);
            }
            fn counts(&self) -> (usize, usize, bool) {
                (self.capacity(), self.spare_capacity(), self.is_empty())
            }
        }

        impl<T: Send> Thief<T> for $order::Stealer<T> {
            type Own = $order::Worker<T>;

            fn steal(
                &self,
                own: &Self::Own,
                count: fn(usize) -> usize,
            ) -> Result<usize, StealError> {
                self.steal(own, count)
            }
            fn steal_and_pop(&self, own: &Self::Own) -> Result<T, StealError> {
                self.steal_and_pop(own, |n| (n - n / 2).min(32)).map(|out| out.0)
            }
        }
    };
}
implement_for!(lifo);
implement_for!(fifo);

/// Makes a test for both orders of each body, which is written once, for any queue of st3's shape.
macro_rules! for_both {
    ($($name:ident: $body:ident;)*) => {
        $(#[test]
        fn $name() {
            $body::<lifo::Worker<u32>>();
            $body::<fifo::Worker<u32>>();
        })*
    };
}
for_both! {
    the_newest_of_the_stolen_is_returned_and_the_others_are_moved: steals_and_pops;
    a_steal_moves_the_oldest_in_order_and_counts_them: steals;
    a_full_destination_is_empty_for_a_steal: steals_to_a_full_queue;
    a_full_destination_gets_none_from_a_steal_and_pop: steals_and_pops_to_a_full_queue;
    a_drain_yields_the_oldest: drains;
    a_closure_that_returns_zero_gets_nothing: wants_nothing;
    an_extension_stops_at_the_capacity: extends;
    a_stealer_outlives_its_worker: outlives;
}

/// A queue of capacity 4 with these items.
fn queue<Q: Queue<u32>>(items: impl IntoIterator<Item = u32>) -> Q {
    let queue = Q::with_capacity(4);
    items.into_iter().for_each(|item| queue.push(item).unwrap());
    queue
}

fn all<Q: Queue<u32>>(queue: &Q) -> Vec<u32> {
    queue.drained(|n| n).unwrap_or_default()
}

fn steals_and_pops<Q: Queue<u32>>() {
    let (from, to) = (queue::<Q>(1..=4), queue::<Q>([]));
    assert_eq!(from.thief().steal_and_pop(&to), Ok(2));
    assert_eq!((all(&to), all(&from)), (vec![1], vec![3, 4]));
}

fn steals<Q: Queue<u32>>() {
    let (from, to) = (queue::<Q>(1..=4), queue::<Q>([9]));
    assert_eq!(from.thief_ref().steal(&to, |n| n / 2), Ok(2));
    assert_eq!((all(&to), all(&from)), (vec![9, 1, 2], vec![3, 4]));
}

fn steals_to_a_full_queue<Q: Queue<u32>>() {
    let (from, to) = (queue::<Q>(1..=4), queue::<Q>(5..=8));
    assert_eq!(from.thief().steal(&to, |n| n), Err(StealError::Empty));
    assert_eq!((all(&from).len(), all(&to).len()), (4, 4));
}

fn steals_and_pops_to_a_full_queue<Q: Queue<u32>>() {
    let (from, to) = (queue::<Q>(1..=4), queue::<Q>(5..=8));
    assert_eq!(from.thief().steal_and_pop(&to), Ok(1));
    assert_eq!((all(&from), all(&to)), (vec![2, 3, 4], vec![5, 6, 7, 8]));
}

fn drains<Q: Queue<u32>>() {
    let from = queue::<Q>(1..=4);
    assert_eq!(from.drained(|n| n - 1), Ok(vec![1, 2, 3]));
    assert_eq!((from.pop(), from.pop()), (Some(4), None));
    assert_eq!(from.drained(|n| n), Err(StealError::Empty));
}

fn wants_nothing<Q: Queue<u32>>() {
    let (from, to) = (queue::<Q>(1..=4), queue::<Q>([]));
    assert_eq!(from.thief().steal(&to, |_| 0), Err(StealError::Empty));
    assert_eq!(from.drained(|_| 0), Err(StealError::Empty));
}

fn extends<Q: Queue<u32>>() {
    let queue = queue::<Q>([1]);
    assert_eq!(queue.counts(), (4, 3, false));
    queue.extended((2..9).collect());
    assert_eq!((queue.counts(), all(&queue)), ((4, 0, false), vec![1, 2, 3, 4]));
    assert_eq!(queue.counts(), (4, 4, true));
}

fn outlives<Q: Queue<u32>>() {
    let (from, to) = (queue::<Q>(1..=4), queue::<Q>([]));
    let thief = from.thief();
    assert!(thief == from.thief() && thief != to.thief());
    drop(from);
    assert_eq!(thief.clone().steal(&to, |n| n), Ok(4));
    assert_eq!(all(&to), [1, 2, 3, 4]);
}

#[test]
fn a_returned_pair_is_an_item_and_a_count() {
    let (from, to) = (lifo::Worker::<u32>::new(32), lifo::Worker::<u32>::new(32));
    from.extend(0..10);
    let stealer = from.stealer_ref();
    assert_eq!(stealer.steal_and_pop(&to, |n| n - n / 2), Ok((4, 4)));
    assert_eq!(stealer.steal_and_pop(&to, |_| 1), Ok((5, 0)));
    assert_eq!(from.stealer().steal(&to, |n| n / 2), Ok(2));
}

#[test]
fn errors_can_be_matched_without_a_wildcard() {
    fn name(result: Result<fifo::Drain<'_, u32>, StealError>) -> &'static str {
        match result {
            Ok(_) => "some",
            Err(StealError::Empty) => "empty",
            Err(StealError::Busy) => "busy",
        }
    }
    let worker = fifo::Worker::<u32>::new(4);
    assert_eq!(name(worker.drain(|n| n)), "empty");
    worker.extend([1, 2]);
    let held = worker.drain(|_| 1);
    assert_eq!(name(worker.drain(|n| n)), "busy");
    assert_eq!(name(held), "some");
}

#[test]
fn a_drain_can_be_a_field() {
    struct Batch<'a> {
        oldest: lifo::Drain<'a, u32>,
        old: fifo::Drain<'a, u32>,
    }
    let (one, other) = (lifo::Worker::new(4), fifo::Worker::new(4));
    one.extend([1, 2]);
    other.extend([3, 4]);
    let batch = Batch { oldest: one.drain(|n| n).unwrap(), old: other.drain(|n| n).unwrap() };
    assert_eq!((batch.oldest.len(), batch.old.size_hint()), (2, (2, Some(2))));
    assert!(batch.oldest.chain(batch.old).eq([1, 2, 3, 4]));
}

#[test]
fn a_worker_goes_to_another_thread() {
    let worker = fifo::Worker::<String>::new(4);
    let stealer = worker.stealer();
    std::thread::spawn(move || worker.push("from there".into()).unwrap()).join().unwrap();
    assert_eq!(stealer.steal_one().as_deref(), Ok("from there"));
}

/// The auto traits and iterator traits of st3's handles.
#[allow(dead_code, reason = "compiled, not run")]
mod traits {
    use super::*;

    fn is_worker<Q: Send + UnwindSafe + RefUnwindSafe>() {}
    fn is_stealer<S: Clone + Eq + Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    fn is_drain<D: ExactSizeIterator + FusedIterator + Send + Sync + UnwindSafe + RefUnwindSafe>() {
    }
    fn is_error<E: std::error::Error + Copy + Eq + Send + Sync + 'static>() {}

    fn all<'a, T: Send + 'a>() {
        is_worker::<lifo::Worker<T>>();
        is_worker::<fifo::Worker<T>>();
        is_stealer::<lifo::Stealer<T>>();
        is_stealer::<fifo::Stealer<T>>();
        is_drain::<lifo::Drain<'a, T>>();
        is_drain::<fifo::Drain<'a, T>>();
        is_error::<StealError>();
    }
}
