//! The edges of an injector: the ends of blocks, closing, and counts.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use brigade_queue::{Cursor, Injector, ShardedInjector, fifo, lifo};

/// The number of items in one block.
const BLOCK: usize = 511;

/// Numbers of items around the ends of the first two blocks.
const ABOUT_BLOCKS: [usize; 9] =
    [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1, 3 * BLOCK];

#[test]
fn a_batch_is_queued_in_order_anywhere() {
    for before in ABOUT_BLOCKS {
        for batch in [0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3] {
            let injector = Injector::new();
            (0..before).for_each(|item| injector.push(item).unwrap());
            injector.push_batch((before..before + batch).collect()).unwrap();
            injector.push(before + batch).unwrap();
            assert_eq!(injector.len(), before + batch + 1);
            let popped = iter::from_fn(|| injector.pop());
            assert!(popped.eq(0..=before + batch), "{batch} after {before}");
        }
    }
}

#[test]
fn popped_batches_keep_order_and_end_with_a_block() {
    let injector = Injector::new();
    injector.push_batch((0..2 * BLOCK).collect()).unwrap();
    let worker = fifo::Worker::new(1_024);
    assert_eq!(injector.pop_batch_into(&worker, 100), Some(0));
    assert_eq!(injector.pop_batch_into(&worker, usize::MAX), Some(100));
    assert_eq!(injector.len(), BLOCK, "the second block is left");
    assert!(iter::from_fn(|| worker.pop()).eq((1..100).chain(101..BLOCK)));
    assert!(iter::from_fn(|| injector.pop()).eq(BLOCK..2 * BLOCK));
}

#[test]
fn a_popped_batch_is_the_free_slots_and_one() {
    let (injector, worker) = (Injector::new(), lifo::Worker::new(4));
    injector.push_batch((0..9).collect()).unwrap();
    worker.push(100).unwrap();
    assert_eq!(injector.pop_batch_into(&worker, usize::MAX), Some(0));
    assert_eq!((worker.len(), injector.len()), (4, 5));
    assert_eq!(injector.pop_batch_into(&worker, usize::MAX), Some(4), "a full worker gets none");
    assert!(iter::from_fn(|| worker.pop()).eq([3, 2, 1, 100]));
}

#[test]
fn a_closed_injector_is_emptied_in_order() {
    for count in ABOUT_BLOCKS {
        let injector = Injector::new();
        injector.push_batch((0..count).collect()).unwrap();
        injector.close();
        injector.close();
        assert!(injector.is_closed());
        assert_eq!(injector.push(7), Err(7));
        assert_eq!((injector.len(), injector.pushed()), (count, count as u64));
        assert!(iter::from_fn(|| injector.pop()).eq(0..count), "{count} items");
        assert!(injector.is_empty() && injector.is_closed());
        assert_eq!(injector.push_batch(vec![8]), Err(vec![8]), "emptied, it stays closed");
        assert_eq!(injector.pushed(), count as u64, "rejected items do not count");
    }
}

#[test]
fn a_closed_injector_takes_an_overflow() {
    for before in [0, BLOCK - 2, BLOCK] {
        let (injector, worker) = (Injector::new(), fifo::Worker::new(8));
        injector.push_batch((0..before).collect()).unwrap();
        injector.close();
        worker.extend(before..before + 8);
        assert_eq!(injector.take_overflow(&worker), 4);
        assert!(iter::from_fn(|| injector.pop()).eq(0..before + 4));
        assert!(iter::from_fn(|| worker.pop()).eq(before + 4..before + 8));
    }
}

#[test]
fn an_overflow_leaves_the_ring_to_its_thief() {
    let (injector, worker) = (Injector::new(), fifo::Worker::new(4));
    worker.extend(0..4);
    let claim = worker.drain(|_| 1).unwrap();
    assert_eq!(injector.take_overflow(&worker), 0);
    assert!(claim.eq([0]));
    assert_eq!((worker.len(), injector.pop()), (3, None));
}

/// Counts while another thread pushes and pops: never more than there can be.
#[test]
fn the_length_is_plausible_beside_pushes_and_pops() {
    let (injector, done) = (Injector::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for item in 0..200_000 {
                injector.push(item).unwrap();
                assert_eq!(injector.pop(), Some(item));
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            let popped_at_least = injector.pushed() as usize;
            let len = injector.len();
            let pushed = injector.pushed() as usize;
            assert!(len <= 1 + pushed - popped_at_least, "{len} of {pushed}");
        }
    });
    assert_eq!(injector.len(), 0);
}

#[test]
fn an_emptied_injector_is_empty() {
    let injector = Injector::new();
    for item in 0..3 * BLOCK {
        assert_eq!((injector.len(), injector.pop()), (0, None));
        injector.push(item).unwrap();
        assert_eq!((injector.len(), injector.is_empty()), (1, false));
        assert_eq!(injector.pop(), Some(item));
    }
    assert_eq!(injector.pushed(), 3 * BLOCK as u64);
}

#[test]
fn shards_are_rounded_up_to_a_power_of_two() {
    for (asked, expected) in [(0, 1), (1, 1), (3, 4), (4, 4), (5, 8)] {
        let injector = ShardedInjector::new(asked);
        (0..expected).for_each(|shard| injector.shard(shard).push(shard).unwrap());
        assert_eq!((injector.len(), injector.shard(0).len()), (expected, 1), "of {asked}");
        assert_eq!(injector.shard(expected).pop(), Some(0), "the numbers go round");
    }
}

#[test]
fn a_closed_sharded_injector_keeps_its_items() {
    let (injector, cursor) = (ShardedInjector::new(4), Cursor::at(3));
    (0..8).for_each(|item| injector.shard(item).push(item).unwrap());
    injector.close();
    assert!((0..4).all(|shard| injector.shard(shard).push(9) == Err(9)));
    let worker = fifo::Worker::new(4);
    let first = injector.take_turns(&cursor, |shard| shard.pop_batch_into(&worker, usize::MAX));
    assert_eq!(first, Some(0));
    assert_eq!(worker.pop(), Some(4));
    assert!(iter::from_fn(|| injector.pop(&cursor)).eq([1, 2, 3, 5, 6, 7]));
    assert_eq!((injector.len(), injector.pushed(), injector.is_empty()), (0, 8, true));
}
