//! Sharded injectors: the order of each producer, the turns of the shards, counts and closing.

use std::iter;
use std::thread;

use brigade_queue::{Cursor, ShardedInjector, fifo};
use brigade_testkit::{Seed, test};
use fastrand::Rng;

const PRODUCERS: usize = 4;
const CONSUMERS: usize = 3;
const ITEMS: usize = if cfg!(miri) { 300 } else { 30_000 };

/// The producer of an item, and its number among that producer's items.
type Item = (usize, usize);

/// Pushes one producer's items, one by one and in batches.
fn produce(injector: &ShardedInjector<Item>, producer: usize, rng: &mut Rng) {
    let shard = injector.shard(producer);
    let mut items = (0..ITEMS).map(|item| (producer, item));
    while let Some(item) = items.next() {
        shard.push(item).unwrap();
        shard.push_batch(items.by_ref().take(rng.usize(..9)).collect()).unwrap();
    }
}

/// Takes items, in order, until all have been taken.
fn consume(injector: &ShardedInjector<Item>, start: usize, rng: &mut Rng) -> Vec<Item> {
    let (cursor, own) = (Cursor::at(start), fifo::Worker::new(8));
    let mut taken = Vec::new();
    while !injector.is_empty() || injector.pushed() < (PRODUCERS * ITEMS) as u64 {
        let first = if rng.bool() {
            injector.pop(&cursor)
        } else {
            let most = rng.usize(1..12);
            injector.take_turns(&cursor, |shard| shard.pop_batch_into(&own, most))
        };
        if first.is_none() {
            thread::yield_now();
        }
        taken.extend(first.into_iter().chain(iter::from_fn(|| own.pop())));
    }
    taken
}

#[test]
fn consumers_keep_each_producers_order() {
    let mut rng = Rng::with_seed(Seed::printed().below(u64::MAX));
    // Half as many as producers, so that two producers share each.
    let injector = ShardedInjector::new(PRODUCERS / 2);
    let taken: Vec<_> = thread::scope(|scope| {
        let injector = &injector;
        for producer in 0..PRODUCERS {
            let mut rng = rng.fork();
            scope.spawn(move || produce(injector, producer, &mut rng));
        }
        let consumers: Vec<_> = (0..CONSUMERS)
            .map(|start| {
                let mut rng = rng.fork();
                scope.spawn(move || consume(injector, start, &mut rng))
            })
            .collect();
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    });
    for producer in 0..PRODUCERS {
        let of_producer = |taken: &Vec<Item>| -> Vec<usize> {
            taken.iter().filter(|item| item.0 == producer).map(|item| item.1).collect()
        };
        let of_each: Vec<_> = taken.iter().map(of_producer).collect();
        for (consumer, items) in of_each.iter().enumerate() {
            assert!(items.is_sorted(), "of {producer}, to {consumer}: {items:?}");
        }
        let mut all = of_each.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..ITEMS), "of {producer}, something is lost or there twice");
    }
}

/// Takes as many items as there are shards, of which one is flooded and the others have one item: one of each comes.
fn one_of_each(take: impl Fn(&ShardedInjector<usize>, &Cursor) -> Option<usize>) {
    for (flooded, start) in (0..4).flat_map(|flooded| (0..4).map(move |start| (flooded, start))) {
        let injector = ShardedInjector::new(4);
        (0..4).for_each(|shard| injector.shard(shard).push(shard).unwrap());
        injector.shard(flooded).push_batch(vec![flooded; 100]).unwrap();
        let cursor = Cursor::at(start);
        let turns: Vec<_> = iter::from_fn(|| take(&injector, &cursor)).take(4).collect();
        let expected: Vec<_> = (1..=4).map(|step| (start + step) % 4).collect();
        assert_eq!(turns, expected, "{flooded} flooded, from {start} on");
    }
}

#[test]
fn shards_take_turns_beside_a_flooded_one() {
    one_of_each(ShardedInjector::pop);
}

#[test]
fn batches_take_turns_beside_a_flooded_shard() {
    one_of_each(|injector, cursor| {
        let worker = fifo::Worker::new(8);
        injector.take_turns(cursor, |shard| shard.pop_batch_into(&worker, 50))
    });
}

#[test]
fn a_restless_producer_delays_no_other() {
    let injector = ShardedInjector::new(2);
    thread::scope(|scope| {
        // Ends when the injector is closed.
        scope.spawn(|| while injector.shard(0).push("many").is_ok() {});
        // More than is popped below: that shard is never empty.
        while injector.shard(0).len() < 1_000 {
            thread::yield_now();
        }
        let cursor = Cursor::default();
        for _ in 0..100 {
            injector.shard(1).push("one").unwrap();
            let turns = [injector.pop(&cursor), injector.pop(&cursor)];
            assert!(turns.contains(&Some("one")), "not in two turns: {turns:?}");
        }
        injector.close();
    });
}

#[test]
fn a_closed_sharded_injector_accepts_nothing() {
    let injector = ShardedInjector::new(PRODUCERS);
    let accepted: usize = thread::scope(|scope| {
        let injector = &injector;
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let shard = injector.shard(producer);
                scope.spawn(move || (0..).take_while(|&item| shard.push(item).is_ok()).count())
            })
            .collect();
        while injector.pushed() < 1_000 {
            thread::yield_now();
        }
        injector.close();
        let at_close = injector.pushed();
        for producer in 0..PRODUCERS {
            assert!(injector.shard(producer).is_closed());
            assert_eq!(injector.shard(producer).push(0), Err(0));
        }
        let accepted = producers.into_iter().map(|producer| producer.join().unwrap()).sum();
        assert_eq!(injector.pushed(), at_close, "pushed after it was closed");
        accepted
    });
    assert_eq!(injector.len(), accepted);
    let cursor = Cursor::default();
    assert_eq!(iter::from_fn(|| injector.pop(&cursor)).count(), accepted);
}

#[test]
fn a_sharded_injectors_counts_are_its_shards() {
    let injector = ShardedInjector::new(3);
    let cursor = Cursor::default();
    assert_eq!((injector.len(), injector.pushed(), injector.is_empty()), (0, 0, true));
    // More than a block in some shards, no item in the last.
    for (producer, count) in [(0, 5), (1, 1_200), (2, 700)] {
        injector.shard(producer).push_batch(vec![producer; count]).unwrap();
    }
    for taken in 1..=1_905 {
        assert!(!injector.is_empty());
        assert!(injector.pop(&cursor).is_some());
        assert_eq!((injector.len(), injector.pushed()), (1_905 - taken, 1_905));
    }
    assert_eq!((injector.pop(&cursor), injector.is_empty()), (None, true));
}

#[test]
fn a_concurrent_count_is_within_the_pushes() {
    let injector = ShardedInjector::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let cursor = Cursor::default();
            // Long enough for the two to meet.
            for item in 0..ITEMS * 20 {
                injector.shard(item).push(item).unwrap();
                assert!(injector.pop(&cursor).is_some());
            }
            injector.close();
        });
        let mut before = 0;
        while !injector.shard(1).is_closed() {
            let len = injector.len();
            let pushed = injector.pushed();
            assert!(len as u64 <= pushed, "{len} of {pushed}");
            assert!(pushed >= before, "{pushed} after {before}");
            before = pushed;
        }
    });
}
