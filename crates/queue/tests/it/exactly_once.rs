//! Every item comes out exactly once, also under several threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use brigade_queue::{Injector, Order, StealError, Worker, fifo, lifo};

const ITEMS: usize = 200_000;

/// Counts how often each item has been seen.
struct Seen(Vec<AtomicUsize>);

impl Seen {
    fn new(items: usize) -> Self {
        Self((0..items).map(|_| AtomicUsize::new(0)).collect())
    }

    fn note(&self, item: usize) {
        self.0[item].fetch_add(1, Ordering::Relaxed);
    }

    fn total(&self) -> usize {
        self.0.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn assert_once(&self) {
        for (item, count) in self.0.iter().enumerate() {
            assert_eq!(count.load(Ordering::Relaxed), 1, "item {item}");
        }
    }
}

/// Steals from a ring, by halves and one at a time, until `done` and nothing is left.
fn thieve<O: Order>(owner: &brigade_queue::Stealer<usize, O>, seen: &Seen, done: &AtomicBool) {
    let own = Worker::<usize, O>::new(8);
    loop {
        let ended = done.load(Ordering::Acquire);
        match owner.steal_half_and_pop(&own) {
            Ok((item, _)) => {
                seen.note(item);
                while let Some(item) = own.pop() {
                    seen.note(item);
                }
            }
            Err(StealError::Empty) if ended => return,
            Err(_) => {
                owner.steal_one().map_or_else(|_| thread::yield_now(), |item| seen.note(item))
            }
        }
    }
}

fn owner_against_two_thieves<O: Order + 'static>() {
    let (seen, done) = (Arc::new(Seen::new(ITEMS)), Arc::new(AtomicBool::new(false)));
    let worker = Worker::<usize, O>::new(16);
    let thieves: Vec<_> = (0..2)
        .map(|_| {
            let (stealer, seen, done) = (worker.stealer(), seen.clone(), done.clone());
            thread::spawn(move || thieve(&stealer, &seen, &done))
        })
        .collect();
    for mut item in 0..ITEMS {
        while let Err(back) = worker.push(item) {
            item = back;
            worker.pop().into_iter().for_each(|item| seen.note(item));
        }
        if item % 3 == 0 {
            worker.pop().into_iter().for_each(|item| seen.note(item));
        }
    }
    done.store(true, Ordering::Release);
    thieves.into_iter().for_each(|thief| thief.join().unwrap());
    while let Some(item) = worker.pop() {
        seen.note(item);
    }
    seen.assert_once();
}

#[test]
fn a_lifo_ring_passes_items_once_beside_two_thieves() {
    owner_against_two_thieves::<lifo::Lifo>();
}

#[test]
fn a_fifo_ring_passes_items_once_beside_two_thieves() {
    owner_against_two_thieves::<fifo::Fifo>();
}

/// Pops one item, then a batch, then takes an overflow, and so on, until all items have been seen.
fn consume(injector: &Injector<usize>, seen: &Seen) {
    let own = fifo::Worker::new(8);
    for turn in 0.. {
        match turn % 3 {
            0 => injector.pop().into_iter().for_each(|item| seen.note(item)),
            1 => injector.pop_batch_into(&own, 6).into_iter().for_each(|item| seen.note(item)),
            _ => _ = injector.take_overflow(&own),
        }
        while let Some(item) = own.pop() {
            seen.note(item);
        }
        if injector.is_empty() {
            if seen.total() == seen.0.len() {
                return;
            }
            thread::yield_now();
        }
    }
}

#[test]
fn an_injector_passes_items_once_among_four_threads() {
    let (seen, injector) = (Seen::new(ITEMS), Injector::new());
    thread::scope(|scope| {
        for half in 0..2 {
            let injector = &injector;
            scope.spawn(move || {
                let mut items = (0..ITEMS).filter(|item| item % 2 == half);
                while let Some(item) = items.next() {
                    injector.push(item).unwrap();
                    injector.push_batch(items.by_ref().take(item % 7).collect()).unwrap();
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| consume(&injector, &seen));
        }
    });
    seen.assert_once();
    assert_eq!(injector.pushed(), ITEMS as u64);
}

#[test]
fn a_producers_order_is_kept_across_blocks() {
    let injector = Injector::new();
    for item in 0..5_000 {
        injector.push(item).unwrap();
    }
    injector.push_batch((5_000..10_000).collect()).unwrap();
    assert_eq!(injector.len(), 10_000);
    assert!(std::iter::from_fn(|| injector.pop()).eq(0..10_000));
    assert!(injector.is_empty());
}

#[test]
fn a_closed_injector_returns_new_items_and_keeps_old_ones() {
    let injector = Injector::new();
    injector.push(1).unwrap();
    injector.close();
    assert!(injector.is_closed());
    assert_eq!(injector.push(2), Err(2));
    assert_eq!(injector.push_batch(vec![3, 4]), Err(vec![3, 4]));
    injector.push_accepted(5);
    injector.push_batch_accepted(vec![6, 7]);
    assert!(std::iter::from_fn(|| injector.pop()).eq([1, 5, 6, 7]));
}

#[test]
fn a_limit_of_zero_takes_nothing() {
    let (injector, worker) = (Injector::new(), lifo::Worker::new(4));
    injector.push(Box::new(1)).unwrap();
    assert_eq!(injector.pop_batch_into(&worker, 0), None);
    worker.push(Box::new(2)).unwrap();
    assert_eq!(worker.stealer().steal(&worker, |_| 0), Err(StealError::Empty));
    assert_eq!((injector.pop(), worker.pop()), (Some(Box::new(1)), Some(Box::new(2))));
}

#[test]
fn a_dropped_injector_drops_the_rest_once() {
    let count = Arc::new(());
    let injector = Injector::new();
    for _ in 0..2_000 {
        injector.push(count.clone()).unwrap();
    }
    (0..700).for_each(|_| drop(injector.pop().unwrap()));
    assert_eq!(Arc::strong_count(&count), 1_301);
    drop(injector);
    assert_eq!(Arc::strong_count(&count), 1);
}
