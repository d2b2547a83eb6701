//! After a panic in a closure, an iterator or the drop of an item the queues are consistent, and every item is still
//! dropped once.

use crate::ledger::{Item, Ledger, must_panic, panic_quietly};
use brigade_queue::{Injector, Order, ShardedInjector, Worker, fifo, lifo};

/// Returns a ring with `items` items.
fn ring<O: Order>(ledger: &Ledger, items: usize) -> Worker<Item, O> {
    let worker = Worker::new(8);
    worker.extend(ledger.items(items));
    worker
}

/// Checks that nothing is claimed and all slots can be used.
#[track_caller]
fn assert_usable<O: Order>(ledger: &Ledger, worker: &Worker<Item, O>) {
    worker.extend(ledger.items(8));
    assert_eq!((worker.len(), worker.spare_capacity()), (8, 0));
    assert!(worker.stealer_ref().steal_one().is_ok());
    assert_eq!(worker.drain(|count| count).unwrap().count(), 7);
    assert!(worker.pop().is_none());
}

#[test]
fn a_panicking_closure_claims_nothing() {
    fn body<O: Order>() {
        let ledger = Ledger::open();
        let (source, destination) = (ring::<O>(&ledger, 3), ring::<O>(&ledger, 2));
        must_panic(|| source.stealer_ref().steal(&destination, |_| panic_quietly()));
        must_panic(|| source.stealer_ref().steal_and_pop(&destination, |_| panic_quietly()));
        must_panic(|| source.drain(|_| panic_quietly()).map(drop));
        assert_eq!((source.len(), destination.len()), (3, 2));
        assert_usable(&ledger, &source);
        assert_usable(&ledger, &destination);
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_panicking_iterator_leaves_its_yielded_items() {
    fn body<O: Order>() {
        for call in 0..=5 {
            let ledger = Ledger::open();
            let worker = ring::<O>(&ledger, 2);
            let mut calls = 0;
            let items = std::iter::from_fn(|| {
                if calls == call {
                    panic_quietly();
                }
                calls += 1;
                Some(ledger.item())
            });
            must_panic(|| worker.extend(items));
            assert_eq!(worker.len(), 2 + call);
            assert_usable(&ledger, &worker);
            drop(worker);
            ledger.close([]);
        }
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

/// An iterator with an arbitrary size hint.
struct Liar<'a> {
    ledger: &'a Ledger,
    left: usize,
    hint: (usize, Option<usize>),
}

impl Iterator for Liar<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        self.left = self.left.checked_sub(1)?;
        Some(self.ledger.item())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.hint
    }
}

impl ExactSizeIterator for Liar<'_> {}

#[test]
fn a_wrong_size_hint_adds_the_yielded_items() {
    fn body<O: Order>() {
        for left in [0, 1, 3, 6, 7, 100] {
            for hint in [(0, Some(0)), (3, Some(1)), (6, None), (usize::MAX, Some(usize::MAX))] {
                let ledger = Ledger::open();
                let worker = ring::<O>(&ledger, 2);
                worker.extend(Liar { ledger: &ledger, left, hint });
                assert_eq!(worker.len(), 2 + left.min(6));
                assert_usable(&ledger, &worker);
                ledger.close([]);
            }
        }
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_dropped_drain_drops_the_rest_after_a_panic() {
    fn body<O: Order>() {
        for bomb in 1..4 {
            let ledger = Ledger::open();
            let worker = ring::<O>(&ledger, 6);
            let mut drain = worker.drain(|_| 4).unwrap();
            drop(drain.next());
            ledger.arm(bomb);
            must_panic(|| drop(drain));
            assert_eq!(ledger.alive(), [4, 5], "what was not drained stays");
            assert_usable(&ledger, &worker);
            drop(worker);
            ledger.close([]);
        }
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_dropped_ring_drops_the_rest_after_a_panic() {
    fn body<O: Order>() {
        for bomb in 0..4 {
            let ledger = Ledger::open();
            let worker = ring::<O>(&ledger, 4);
            ledger.arm(bomb);
            must_panic(|| drop(worker));
            ledger.close([]);
        }
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_dropped_injector_drops_the_rest_after_a_panic() {
    // The second item, one at the end of a block, one at the start of the next, and the last.
    for bomb in [1, 510, 511, 1_199] {
        let ledger = Ledger::open();
        let injector = Injector::new();
        injector.push_batch(ledger.items(1_200).collect()).unwrap();
        ledger.arm(bomb);
        must_panic(|| drop(injector));
        ledger.close([]);
    }
}

#[test]
fn a_dropped_sharded_injector_drops_the_rest_after_a_panic() {
    let ledger = Ledger::open();
    let injector = ShardedInjector::new(2);
    for number in 0..6 {
        injector.shard(number).push(ledger.item()).unwrap();
    }
    ledger.arm(2);
    must_panic(|| drop(injector));
    ledger.close([]);
}

#[test]
fn an_overflow_moves_items_that_panic_on_drop() {
    fn body<O: Order>() {
        let ledger = Ledger::open();
        let (worker, injector) = (ring::<O>(&ledger, 8), Injector::new());
        (0..8).for_each(|bomb| ledger.arm(bomb));
        assert_eq!(injector.take_overflow(&worker), 4);
        assert_eq!((worker.len(), injector.len(), ledger.alive().len()), (4, 4, 8));
        // One at a time: a second panic while unwinding would abort.
        while let Some(item) = injector.pop().or_else(|| worker.pop()) {
            must_panic(|| drop(item));
        }
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}
