//! Safe code can't make a ring drop an item twice: neither by forgetting a drain, nor by using the ring inside a closure or
//! an iterator that the ring calls.

use std::cell::Cell;
use std::mem;

use crate::ledger::{Item, Ledger};
use brigade_queue::{Order, StealError, Worker, fifo, lifo};

type Ring<O> = Worker<Item, O>;

/// Returns a ring with `items` items.
fn ring<O: Order>(ledger: &Ledger, items: usize) -> Ring<O> {
    let worker = Ring::new(8);
    worker.extend(ledger.items(items));
    assert_eq!(worker.len(), items);
    worker
}

/// Drains four of five items, reads some of them and forgets the rest.
fn forget_a_drain<O: Order>(read: usize) -> (Ledger, Ring<O>) {
    let ledger = Ledger::open();
    let worker = ring(&ledger, 5);
    let mut drain = worker.drain(|_| 4).unwrap();
    for number in 0..read {
        assert_eq!(drain.next().unwrap().0, number);
    }
    mem::forget(drain);
    (ledger, worker)
}

/// Calls `then` with a ring whose drain was forgotten after 0, 1, and all but one of its items.
fn for_each_forgotten<O: Order>(then: fn(&Ledger, Ring<O>)) {
    for read in [0, 1, 3] {
        let (ledger, worker) = forget_a_drain::<O>(read);
        then(&ledger, worker);
        ledger.close(read..4);
    }
}

#[test]
fn a_forgotten_drain_leaks_and_drops_no_item_twice() {
    for_each_forgotten::<lifo::Lifo>(|_, worker| drop(worker));
    for_each_forgotten::<fifo::Fifo>(|_, worker| drop(worker));
}

#[test]
fn the_owner_goes_on_after_a_forgotten_drain() {
    fn body<O: Order>(ledger: &Ledger, worker: Ring<O>) {
        assert_eq!(worker.len(), 1);
        let pushed = ledger.items(8).map(|item| worker.push(item)).filter(Result::is_ok).count();
        assert_eq!(pushed, 3, "the four that were drained and the fifth take their slots for good");
        let popped = std::iter::from_fn(|| worker.pop()).count();
        assert_eq!(popped, 4);
    }
    for_each_forgotten::<lifo::Lifo>(body);
    for_each_forgotten::<fifo::Fifo>(body);
}

#[test]
fn after_a_forgotten_drain_thieves_get_busy() {
    fn body<O: Order>(ledger: &Ledger, worker: Ring<O>) {
        let thief = ring::<O>(ledger, 0);
        let stealer = worker.stealer();
        assert_eq!(stealer.steal_one(), Err(StealError::Busy));
        assert_eq!(stealer.steal(&thief, |count| count), Err(StealError::Busy));
        assert_eq!(stealer.steal_and_pop(&thief, |count| count), Err(StealError::Busy));
        assert_eq!(worker.drain(|count| count).err(), Some(StealError::Busy));
        drop(worker);
        assert_eq!(stealer.steal_one(), Err(StealError::Busy), "also when the owner is gone");
    }
    for_each_forgotten::<lifo::Lifo>(body);
    for_each_forgotten::<fifo::Fifo>(body);
}

#[test]
fn a_drain_forgotten_at_its_end_leaks_nothing() {
    fn body<O: Order>() {
        let (ledger, worker) = forget_a_drain::<O>(4);
        assert_eq!(worker.stealer_ref().steal_one().map(|item| item.0), Ok(4));
        assert_eq!(worker.spare_capacity(), 8);
        drop(worker);
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

/// Something that a closure or an iterator does to the rings while one of their methods calls it.
type Meddling<O> = fn(&Ledger, source: &Ring<O>, destination: &Ring<O>);

/// Returns all of them, with names.
fn meddlings<O: Order>() -> [(&'static str, Meddling<O>); 10] {
    [
        ("pop the destination", |_, _, to| drop(to.pop())),
        ("empty the destination", |_, _, to| while to.pop().is_some() {}),
        ("push to the destination", |ledger, _, to| drop(to.push(ledger.item()))),
        ("fill the destination", |ledger, _, to| to.extend(ledger.items(8))),
        ("pop the source", |_, from, _| drop(from.pop())),
        ("empty the source", |_, from, _| while from.pop().is_some() {}),
        ("push to the source", |ledger, from, _| drop(from.push(ledger.item()))),
        ("drain the source", |_, from, _| drop(from.drain(|count| count / 2))),
        ("steal from the source", |_, from, to| {
            _ = from.stealer_ref().steal(to, |count| count - 1);
        }),
        ("steal back", |_, from, to| _ = to.stealer_ref().steal(from, |count| count)),
    ]
}

/// Calls `act` with each meddling as a callback; checks that each item is in one ring or was dropped once.
fn meddle<O: Order>(act: impl Fn(&Ring<O>, &Ring<O>, &dyn Fn(), &Ledger)) {
    for (name, meddling) in meddlings::<O>() {
        for (source_len, destination_len) in [(8, 0), (8, 3), (5, 7), (5, 8), (1, 4), (2, 1)] {
            eprintln!("{name} with {source_len} and {destination_len} items");
            let ledger = Ledger::open();
            let (source, destination) =
                (ring::<O>(&ledger, source_len), ring::<O>(&ledger, destination_len));
            act(&source, &destination, &|| meddling(&ledger, &source, &destination), &ledger);
            assert_eq!(source.len() + destination.len(), ledger.alive().len(), "{name}");
            for worker in [source, destination] {
                worker.extend(ledger.items(8));
                assert_eq!(worker.len(), 8, "nothing is left claimed");
                let stolen = worker.drain(|count| count).unwrap().map(|item| item.0);
                assert_eq!(stolen.collect::<std::collections::HashSet<_>>().len(), 8, "{name}");
            }
            ledger.close([]);
        }
    }
}

#[test]
fn the_closure_of_steal_may_use_either_ring() {
    fn body<O: Order>() {
        meddle::<O>(|source, destination, meddling, _| {
            let stolen = source.stealer_ref().steal(destination, |count| {
                meddling();
                count
            });
            assert_ne!(stolen, Err(StealError::Busy));
        });
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn steal_and_pops_closure_may_use_either_ring() {
    fn body<O: Order>() {
        meddle::<O>(|source, destination, meddling, _| {
            let stolen = source.stealer_ref().steal_and_pop(destination, |count| {
                meddling();
                count
            });
            assert_ne!(stolen.err(), Some(StealError::Busy));
        });
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn the_closure_of_drain_may_use_the_ring() {
    fn body<O: Order>() {
        meddle::<O>(|source, _, meddling, _| {
            let drained = source.drain(|count| {
                meddling();
                count
            });
            // Half of the items are read, the rest dropped.
            assert!(drained.map(|mut drain| drain.nth(drain.len() / 2)) != Err(StealError::Busy));
        });
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn the_iterator_of_extend_may_use_the_ring() {
    fn body<O: Order>() {
        meddle::<O>(|source, destination, meddling, ledger| {
            for worker in [source, destination] {
                let mut turns = 0..20;
                worker.extend(std::iter::from_fn(|| {
                    turns.next()?;
                    meddling();
                    Some(ledger.item())
                }));
            }
        });
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_steal_within_a_steal_takes_first() {
    fn body<O: Order>() {
        let ledger = Ledger::open();
        let (source, inner, outer) = (ring::<O>(&ledger, 6), ring(&ledger, 0), ring(&ledger, 0));
        let stealer = source.stealer_ref();
        let stolen = stealer.steal(&outer, |count| {
            assert_eq!(stealer.steal(&inner, |count| count - 2), Ok(4));
            count - 1
        });
        assert_eq!(stolen, Ok(2), "the five requested are limited to those left");
        assert_eq!((source.len(), inner.len(), outer.len()), (0, 4, 2));
        drop((source, inner, outer));
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

/// Returns how often a closure was called and the largest count it got, for each of the three methods that call one.
fn told<O: Order>(source: &Ring<O>, destination: &Ring<O>) -> Vec<(u32, usize)> {
    type Call<O> = fn(&Ring<O>, &Ring<O>, &dyn Fn(usize) -> usize);
    let calls: [Call<O>; 3] = [
        |from, to, count| _ = from.stealer_ref().steal(to, count),
        |from, to, count| drop(from.stealer_ref().steal_and_pop(to, count)),
        |from, _, count| drop(from.drain(count)),
    ];
    calls
        .map(|call| {
            let (times, most) = (Cell::new(0), Cell::new(0));
            call(source, destination, &|count| {
                times.set(times.get() + 1);
                most.set(most.get().max(count));
                1
            });
            (times.get(), most.get())
        })
        .into()
}

#[test]
fn a_closure_is_called_once_with_the_length() {
    fn body<O: Order>() {
        let ledger = Ledger::open();
        assert_eq!(told(&ring::<O>(&ledger, 8), &ring(&ledger, 0)), [(1, 8), (1, 7), (1, 6)]);
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn an_empty_ring_calls_no_closure() {
    fn body<O: Order>() {
        let ledger = Ledger::open();
        assert_eq!(told(&ring::<O>(&ledger, 0), &ring(&ledger, 0)), [(0, 0); 3]);
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_closure_returning_too_many_gets_all() {
    fn body<O: Order>() {
        for wanted in [5, 9, 1 << 20, usize::MAX] {
            let ledger = Ledger::open();
            let (source, destination) = (ring::<O>(&ledger, 4), ring::<O>(&ledger, 2));
            assert_eq!(source.stealer_ref().steal(&destination, |_| wanted), Ok(4));
            assert_eq!(destination.drain(|_| wanted).unwrap().len(), wanted.min(6));
            drop((source, destination));
            ledger.close([]);
        }
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}
