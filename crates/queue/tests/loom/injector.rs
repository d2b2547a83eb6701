//! Models of the injector; `ci/loom.sh` runs them. A block has three slots here, so four items take two blocks.

#![cfg(brigade_loom)]
#![forbid(unsafe_code)]

use std::iter;
use std::sync::Arc;

use brigade_queue::{Injector, fifo};
use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::model::{check, turn};
use loom::thread;

mod steps;
use steps::assert_each_once;

/// Compiles only if the atomics are loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

fn injector(items: impl IntoIterator<Item = u32>) -> Arc<Injector<u32>> {
    let injector = Injector::new();
    items.into_iter().for_each(|item| injector.push(item).unwrap());
    Arc::new(injector)
}

fn push(injector: &Injector<u32>, item: u32) -> Result<(), u32> {
    turn();
    injector.push(item)
}

fn pop(injector: &Injector<u32>) -> Option<u32> {
    turn();
    injector.pop()
}

fn rest(injector: &Injector<u32>) -> Vec<u32> {
    iter::from_fn(|| injector.pop()).collect()
}

/// Caught: `ready` set or read with Relaxed; the first load of the index in `claim_tail`, or `install` advancing it,
/// with Relaxed; an index that moves before its block.
#[test]
fn two_pushers_and_a_popper_cross_blocks() {
    check(3, || {
        let injector = injector([]);
        let pushers = [[0, 1], [2, 3]].map(|items| {
            let injector = injector.clone();
            thread::spawn(move || items.map(|item| push(&injector, item).unwrap()))
        });
        let mut popped: Vec<_> = iter::repeat_with(|| pop(&injector)).take(2).flatten().collect();
        for pusher in pushers {
            pusher.join().unwrap();
        }
        popped.extend(rest(&injector));
        for items in [[0, 1], [2, 3]] {
            assert!(popped.iter().filter(|item| items.contains(item)).is_sorted(), "{popped:?}");
        }
        assert_each_once(&[&popped], 4);
    });
}

/// Caught: the first load of the index in `claim_head`, its failed exchange, or `step` advancing it, with Relaxed; an
/// index that moves before its block.
#[test]
fn two_poppers_share_a_block_and_go_on() {
    check(3, || {
        let injector = injector([0, 1, 2, 3]);
        let other = injector.clone();
        let popper = thread::spawn(move || {
            iter::repeat_with(|| pop(&other)).take(2).flatten().collect::<Vec<_>>()
        });
        let mut popped: Vec<_> = iter::repeat_with(|| pop(&injector)).take(2).flatten().collect();
        assert!(popped.is_sorted());
        let others = popper.join().unwrap();
        assert!(others.is_sorted());
        assert_eq!(
            popped.len() + others.len(),
            4,
            "each pop of a queue that holds enough succeeds"
        );
        popped.extend(rest(&injector));
        assert_each_once(&[&popped, &others], 4);
    });
}

/// Caught: `close` by a load and a store; `install` advancing the index by a store.
#[test]
fn a_push_beside_a_close_is_popped_or_returned() {
    check(3, || {
        let injector = injector([0]);
        let other = injector.clone();
        let pusher = thread::spawn(move || {
            (1..4).filter_map(|item| push(&other, item).err()).collect::<Vec<_>>()
        });
        turn();
        injector.close();
        let accepted = injector.pushed();
        let rejected = pusher.join().unwrap();
        assert_eq!(injector.pushed(), accepted, "none was accepted after the close");
        let popped = rest(&injector);
        assert_eq!(popped.len() as u64, accepted);
        assert_each_once(&[&popped, &rejected], 4);
    });
}

/// Caught: as above; a claim that is not limited to its block.
#[test]
fn a_batch_beside_a_close_is_partly_accepted() {
    check(3, || {
        let injector = injector([0, 1]);
        let other = injector.clone();
        let pusher = thread::spawn(move || {
            turn();
            other.push_batch(vec![2, 3, 4]).err().unwrap_or_default()
        });
        turn();
        injector.close();
        let accepted = injector.pushed();
        let rejected = pusher.join().unwrap();
        assert_eq!(injector.pushed(), accepted, "none was accepted after the close");
        let popped = rest(&injector);
        assert!(popped.is_sorted() && rejected.is_sorted());
        assert_each_once(&[&popped, &rejected], 5);
    });
}

/// Caught: `ready` set or read with Relaxed, or set before the write; a batch of which nothing is queued.
#[test]
fn a_batch_keeps_order_beside_a_pusher() {
    check(3, || {
        let injector = injector([0]);
        let other = injector.clone();
        let pusher = thread::spawn(move || (1..4).for_each(|item| push(&other, item).unwrap()));
        let worker = fifo::Worker::new(4);
        let mut taken = Vec::new();
        for _ in 0..2 {
            turn();
            taken.extend(injector.pop_batch_into(&worker, 3));
            taken.extend(iter::from_fn(|| worker.pop()));
        }
        pusher.join().unwrap();
        taken.extend(rest(&injector));
        assert_eq!(taken, [0, 1, 2, 3]);
    });
}

/// Caught: `finish_reading` without Acquire or without Release, or one slot too early; `take` or `recycle` with Relaxed; a
/// spare that is taken and left in its entry.
#[test]
fn a_block_is_reused_after_its_last_reader() {
    check(3, || {
        // Two blocks: the first is full, the second has room for one more.
        let injector = injector([0, 1, 2, 3, 4]);
        let other = injector.clone();
        let popper = thread::spawn(move || Vec::from_iter(pop(&other)));
        let mut popped = Vec::from_iter(pop(&injector));
        popped.extend(pop(&injector));
        // These claim the last slot of the second block, install the third and write to it.
        (5..7).for_each(|item| push(&injector, item).unwrap());
        let others = popper.join().unwrap();
        popped.extend(rest(&injector));
        assert_each_once(&[&popped, &others], 7);
    });
}

/// Caught: `ready` set or read with Relaxed.
#[test]
fn an_accepted_item_is_seen_until_taken() {
    check(3, || {
        let injector = injector([]);
        let other = injector.clone();
        let pusher = thread::spawn(move || {
            push(&other, 0).unwrap();
            // One of both items is left: the other thread pops at most one.
            push(&other, 1).unwrap();
            !other.is_empty()
        });
        let popped = Vec::from_iter(pop(&injector));
        assert!(pusher.join().unwrap());
        assert_eq!(injector.len(), 2 - popped.len());
        assert_each_once(&[&popped, &rest(&injector)], 2);
    });
}

/// Caught: the claim in `claim_head` without Release; its first load of the index, or its failed exchange, with
/// Relaxed; both loads of `len` without SeqCst and that of the head with Relaxed; a pop that
/// gives up after a lost exchange.
#[test]
fn a_never_empty_queue_is_never_seen_empty() {
    check(3, || {
        let injector = injector([0]);
        let [other, another] = [injector.clone(), injector.clone()];
        let pusher = thread::spawn(move || push(&other, 1).unwrap());
        let popper = thread::spawn(move || {
            turn();
            // Leaves one.
            (another.len() == 2).then(|| another.pop().unwrap())
        });
        turn();
        assert!(!injector.is_empty());
        let popped = pop(&injector).unwrap();
        pusher.join().unwrap();
        let others = Vec::from_iter(popper.join().unwrap());
        assert_each_once(&[&[popped], &others, &rest(&injector)], 2);
    });
}

/// Caught: `ready` set or read with Relaxed; a read that does not wait for it.
#[test]
fn the_last_handle_drops_the_rest() {
    check(3, || {
        let item = Arc::new(());
        let injector = loom::sync::Arc::new(Injector::new());
        let other = injector.clone();
        let popper = thread::spawn(move || {
            turn();
            drop(other.pop());
            turn();
            drop(other);
        });
        for _ in 0..4 {
            turn();
            injector.push(item.clone()).unwrap();
        }
        turn();
        drop(injector);
        popper.join().unwrap();
        assert_eq!(Arc::strong_count(&item), 1);
    });
}

/// Caught: `ready` or `next` not cleared (the latter by freeing a block twice).
#[test]
fn a_block_in_its_second_life_begins_empty() {
    check(3, || {
        // Four blocks, and the first again: the spare that follows it now is not the one that did.
        let injector = Injector::new();
        for run in [0..9, 9..12] {
            injector.push_batch(run.collect()).unwrap();
            while injector.pop().is_some() {}
        }
        let injector = Arc::new(injector);
        let other = injector.clone();
        let pusher = thread::spawn(move || (0..4).for_each(|item| push(&other, item).unwrap()));
        let mut popped: Vec<_> = iter::repeat_with(|| pop(&injector)).take(4).flatten().collect();
        pusher.join().unwrap();
        popped.extend(rest(&injector));
        assert_eq!(popped, [0, 1, 2, 3]);
    });
}

/// Caught: `close` without Release; the load in `is_closed`, or the first in `claim_tail`, with Relaxed.
#[test]
fn a_seen_close_shows_everything_before_it() {
    check(3, || {
        let injector = injector([]);
        let before = Arc::new(AtomicBool::new(false));
        let [other, another] = [injector.clone(), injector.clone()];
        let [written, seen] = [before.clone(), before.clone()];
        let closer = thread::spawn(move || {
            written.store(true, Ordering::Relaxed);
            turn();
            other.close();
        });
        let onlooker = thread::spawn(move || {
            turn();
            assert!(!another.is_closed() || seen.load(Ordering::Relaxed));
        });
        if let Err(item) = push(&injector, 0) {
            assert_eq!((item, before.load(Ordering::Relaxed)), (0, true));
        }
        closer.join().unwrap();
        onlooker.join().unwrap();
    });
}
