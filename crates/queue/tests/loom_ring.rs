//! Models of the rings, in both orders; `ci/loom.sh` runs them.
//!
//! Items are numbers. Each model collects what everybody got and asserts that every number is there once;
//! loom itself fails a model in which a slot is written while it is read.

#![cfg(brigade_loom)]
#![forbid(unsafe_code)]

use std::iter;

use brigade_queue::{Injector, Limit, Order, StealError, Stealer, Worker, fifo, lifo};
use brigade_sync::model::{check, turn};
use loom::thread;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A ring that holds `items`.
fn ring<O: Order>(capacity: usize, items: impl IntoIterator<Item = u32>) -> Worker<u32, O> {
    let worker = Worker::new(capacity);
    items.into_iter().for_each(|item| worker.push(item).unwrap());
    worker
}

fn drain<O: Order>(worker: &Worker<u32, O>) -> Vec<u32> {
    iter::from_fn(|| worker.pop()).collect()
}

fn push<O: Order>(worker: &Worker<u32, O>, item: u32) -> Result<(), u32> {
    turn();
    worker.push(item)
}

fn pop<O: Order>(worker: &Worker<u32, O>) -> Option<u32> {
    turn();
    worker.pop()
}

/// Steals one item, and once more if another thief was at it.
fn steal<O: Order>(stealer: &Stealer<u32, O>) -> Option<u32> {
    turn();
    match stealer.steal_one() {
        Err(StealError::Busy) => stealer.steal_one().ok(),
        other => other.ok(),
    }
}

/// Every item was given to somebody, once.
#[track_caller]
fn assert_each_once(parts: &[&[u32]], count: u32) {
    let mut all = parts.concat();
    all.sort_unstable();
    assert_eq!(all, (0..count).collect::<Vec<_>>());
}

/// The owner pushes and pops beside a thief.
///
/// Caught: `publish` or the load of `pushes`, `tail` in `claim_oldest` with Relaxed; lifo `release` with Relaxed.
fn owner_beside_a_thief<O: Order + 'static>() {
    check(3, || {
        let worker = ring::<O>(4, []);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || {
            iter::repeat_with(|| steal(&stealer)).take(2).flatten().collect::<Vec<_>>()
        });
        let mut owned = Vec::new();
        push(&worker, 0).unwrap();
        push(&worker, 1).unwrap();
        owned.extend(pop(&worker));
        push(&worker, 2).unwrap();
        owned.extend(pop(&worker));
        let stolen = thief.join().unwrap();
        assert!(stolen.is_sorted(), "a thief takes the oldest first");
        owned.extend(drain(&worker));
        assert_each_once(&[&owned, &stolen], 3);
    });
}

/// The owner pops beside two thieves.
///
/// Caught: a pop that swaps instead of comparing.
fn owner_beside_two_thieves<O: Order + 'static>() {
    check(3, || {
        let worker = ring::<O>(4, [0, 1]);
        let thieves = [(); 2].map(|()| {
            let stealer = worker.stealer();
            thread::spawn(move || Vec::from_iter(steal(&stealer)))
        });
        push(&worker, 2).unwrap();
        let mut owned = Vec::from_iter(pop(&worker));
        let [one, two] = thieves.map(|thief| thief.join().unwrap());
        owned.extend(drain(&worker));
        assert_each_once(&[&owned, &one, &two], 3);
    });
}

/// A thief fills its own ring from ours while a second thief steals from that.
///
/// Caught: `publish` or the load of `pushes`, `tail` in `claim_oldest` with Relaxed.
fn chained_thieves<O: Order + 'static>() {
    check(3, || {
        let worker = ring::<O>(4, [0, 1, 2, 3]);
        let middle = ring::<O>(4, []);
        let (ours, theirs) = (worker.stealer(), middle.stealer());
        let first = thread::spawn(move || {
            turn();
            let mut taken = Vec::from_iter(
                ours.steal_batch_and_pop(&middle, Limit::Half, 0).map(|(item, _)| item).ok(),
            );
            taken.extend(pop(&middle));
            (taken, middle)
        });
        let second = thread::spawn(move || {
            let last = ring::<O>(4, []);
            turn();
            let mut taken = Vec::from_iter(
                theirs.steal_batch_and_pop(&last, Limit::Half, 0).map(|(item, _)| item).ok(),
            );
            taken.extend(drain(&last));
            taken
        });
        let mut owned = Vec::from_iter(pop(&worker));
        let (mut taken, middle) = first.join().unwrap();
        let further = second.join().unwrap();
        taken.extend(drain(&middle));
        owned.extend(drain(&worker));
        assert_each_once(&[&owned, &taken, &further], 4);
    });
}

/// The owner steals from itself, as a worker does to run its oldest job.
///
/// Caught: a pop that swaps instead of comparing.
fn owner_as_its_own_thief<O: Order + 'static>() {
    check(3, || {
        let worker = ring::<O>(4, [0, 1]);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        let mut owned = Vec::from_iter(steal(&worker.stealer()));
        push(&worker, 2).unwrap();
        owned.extend(pop(&worker));
        owned.extend(steal(&worker.stealer()));
        let stolen = thief.join().unwrap();
        owned.extend(drain(&worker));
        assert_each_once(&[&owned, &stolen], 3);
    });
}

/// A full ring takes an item again as soon as a thief has read the slot, and not before.
///
/// Caught: `vacant` with Relaxed; fifo `release` with Relaxed.
fn full_ring_is_used_again<O: Order + 'static>() {
    check(3, || {
        let worker = ring::<O>(2, [0, 1]);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        // Back in our hands if the ring is full still.
        let mut owned = Vec::from_iter(push(&worker, 2).err());
        owned.extend(push(&worker, 3).err());
        let stolen = thief.join().unwrap();
        owned.extend(drain(&worker));
        assert_each_once(&[&owned, &stolen], 4);
    });
}

/// A slot that two thieves emptied one after the other, a pop between them, is written again.
///
/// Caught: `vacant`, `release` with Relaxed; lifo `claim_oldest` reading `released` with
/// Relaxed; no `Busy` for the second thief; a fifo pop that releases what a thief still copies.
fn slot_is_used_again_after_two_thieves<O: Order + 'static>() {
    check(3, || {
        let worker = ring::<O>(2, [0, 1]);
        let thieves = [(); 2].map(|()| {
            let stealer = worker.stealer();
            thread::spawn(move || Vec::from_iter(steal(&stealer)))
        });
        let mut owned = Vec::from_iter(push(&worker, 2).err());
        owned.extend(pop(&worker));
        owned.extend(push(&worker, 3).err());
        let [one, two] = thieves.map(|thief| thief.join().unwrap());
        owned.extend(drain(&worker));
        assert_each_once(&[&owned, &one, &two], 4);
    });
}

/// The owner moves half of a full ring to the injector beside a thief.
///
/// Caught: `vacant` with Relaxed; fifo `release` with Relaxed.
fn overflow_beside_a_thief<O: Order + 'static>() {
    check(3, || {
        let worker = ring::<O>(2, [0, 1]);
        let injector = Injector::new();
        let stealer = worker.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        turn();
        let moved = injector.take_overflow(&worker);
        let mut owned = Vec::from_iter(push(&worker, 2).err());
        let stolen = thief.join().unwrap();
        let spilled: Vec<_> = iter::from_fn(|| injector.pop()).collect();
        assert_eq!(spilled.len(), moved);
        owned.extend(drain(&worker));
        assert_each_once(&[&owned, &stolen, &spilled], 3);
    });
}

macro_rules! in_both_orders {
    ($($name:ident: $model:ident;)*) => {
        mod last_in_first_out {
            $(#[test] fn $name() { super::$model::<super::lifo::Lifo>(); })*
        }
        mod first_in_first_out {
            $(#[test] fn $name() { super::$model::<super::fifo::Fifo>(); })*
        }
    };
}

in_both_orders! {
    an_item_goes_to_its_owner_or_to_the_thief: owner_beside_a_thief;
    an_item_goes_to_its_owner_or_to_one_of_two_thieves: owner_beside_two_thieves;
    stolen_items_can_be_stolen_again: chained_thieves;
    an_owner_may_be_its_own_thief: owner_as_its_own_thief;
    a_full_ring_is_used_again_after_a_steal: full_ring_is_used_again;
    a_slot_is_used_again_after_two_thieves: slot_is_used_again_after_two_thieves;
    an_overflow_leaves_nothing_behind: overflow_beside_a_thief;
}
