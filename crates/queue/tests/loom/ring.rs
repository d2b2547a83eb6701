//! Models of a ring's owner and its thieves, in both orders; `ci/loom.sh` runs them.

#![cfg(brigade_loom)]
#![forbid(unsafe_code)]

use std::iter;
use std::sync::Arc;

use brigade_queue::{Order, Worker};
use brigade_sync::model::{check, turn};
use loom::thread;

#[macro_use]
mod steps;
use steps::{assert_each_once, pop, push, rest, ring, steal};

/// Compiles only if the atomics are loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// The owner pushes and pops beside a thief.
///
/// Caught: `publish`, or the load of the end in `count`, with Relaxed; a push that publishes before it writes; a fifo
/// release by a store; a lifo pop that does not count.
fn owner_beside_a_thief<O: Order>() {
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
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &stolen], 3);
    });
}

/// The owner pops beside two thieves.
///
/// Caught: a pop that swaps instead of comparing; a pop that gives up when its claims are old.
fn owner_beside_two_thieves<O: Order>() {
    check(2, || {
        let worker = ring::<O>(4, [0, 1]);
        let thieves = [(); 2].map(|()| {
            let stealer = worker.stealer();
            thread::spawn(move || Vec::from_iter(steal(&stealer)))
        });
        push(&worker, 2).unwrap();
        let mut owned = Vec::from_iter(pop(&worker));
        let [one, two] = thieves.map(|thief| thief.join().unwrap());
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &one, &two], 3);
    });
}

/// A thief that looks at a queue that is never empty finds an item.
///
/// Caught: `POP` without Release, in either order; the load of the claims in `observe` or in `len` with Relaxed.
fn never_empty_for_a_thief<O: Order>() {
    check(3, || {
        let worker = ring::<O>(2, [0]);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || {
            turn();
            assert!(!stealer.is_empty());
            turn();
            stealer.steal_one().unwrap()
        });
        push(&worker, 1).unwrap();
        let mut owned = Vec::from_iter(pop(&worker));
        let stolen = thief.join().unwrap();
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &[stolen]], 2);
    });
}

/// A thread that sees a thief's claim also sees the items behind it that the thief saw.
///
/// Caught: `claim` without Release; the load of the claims in `len` with Relaxed.
fn never_empty_beside_a_thief<O: Order>() {
    check(2, || {
        let worker = ring::<O>(2, [0]);
        let (stealer, onlooker) = (worker.stealer(), worker.stealer());
        let thief = thread::spawn(move || {
            turn();
            stealer.steal_and_pop(&ring(1, []), |count| count - 1).map(|(item, _)| item).ok()
        });
        let watch = thread::spawn(move || {
            turn();
            assert!(!onlooker.is_empty());
        });
        push(&worker, 1).unwrap();
        watch.join().unwrap();
        let stolen = Vec::from_iter(thief.join().unwrap());
        assert_each_once(&[&rest(&worker), &stolen], 2);
    });
}

/// A full ring accepts an item again as soon as a thief has read a slot, and not before.
///
/// Caught: `release` without Release, in either order; `acquire_claims` (fifo) or `released` (lifo) with Relaxed; a
/// release before the read, or none; free slots that are not looked for, or counted from the head.
fn full_ring_is_used_again<O: Order>() {
    check(3, || {
        let worker = ring::<O>(2, [0, 1]);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        let mut rejected = Vec::from_iter(push(&worker, 2).err());
        rejected.extend(push(&worker, 3).err());
        let stolen = thief.join().unwrap();
        // If both came before the thief: now there is a free slot.
        while rejected.len() > 1 {
            worker.push(rejected.remove(0)).unwrap();
        }
        assert_each_once(&[&rest(&worker), &stolen, &rejected], 4);
    });
}

/// An owner that pops after a thief leaves the thief its slot.
///
/// Caught: as above, except free slots that are not looked for; a fifo pop that releases what a thief still reads.
fn emptied_ring_is_used_again<O: Order>() {
    check(3, || {
        let worker = ring::<O>(2, [0, 1]);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        let mut owned = Vec::from_iter(pop(&worker));
        owned.extend(push(&worker, 2).err());
        owned.extend(push(&worker, 3).err());
        let stolen = thief.join().unwrap();
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &stolen], 4);
    });
}

/// A slot that two thieves emptied one after the other, a pop between them, is written again.
///
/// Caught: as above, and `publish` with Relaxed; no `Busy` for the second thief.
fn slot_is_used_again_after_two_thieves<O: Order>() {
    check(2, || {
        let worker = ring::<O>(2, [0, 1]);
        let thieves = [(); 2].map(|()| {
            let stealer = worker.stealer();
            thread::spawn(move || Vec::from_iter(steal(&stealer)))
        });
        let mut owned = Vec::from_iter(push(&worker, 2).err());
        owned.extend(pop(&worker));
        owned.extend(push(&worker, 3).err());
        let [one, two] = thieves.map(|thief| thief.join().unwrap());
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &one, &two], 4);
    });
}

/// The last handle drops the remaining items, on any thread.
///
/// Caught: `publish`, or the load of the end in `count`, with Relaxed; a ring that drops nothing.
fn last_handle_drops_the_rest<O: Order>() {
    check(3, || {
        let item = Arc::new(());
        let worker = Worker::<_, O>::new(2);
        // The ring's reference count is not loom's: this one replaces it, and the worker is dropped before it.
        let last = loom::sync::Arc::new(worker.stealer());
        let other = last.clone();
        let thief = thread::spawn(move || {
            turn();
            drop(other.steal_one());
            turn();
            drop(other);
        });
        for _ in 0..2 {
            turn();
            worker.push(item.clone()).unwrap();
        }
        turn();
        drop(worker.pop());
        drop(worker);
        turn();
        drop(last);
        thief.join().unwrap();
        assert_eq!(Arc::strong_count(&item), 1);
    });
}

in_both_orders! {
    an_item_goes_to_its_owner_or_its_thief: owner_beside_a_thief;
    an_item_goes_to_its_owner_or_a_thief: owner_beside_two_thieves;
    a_thief_finds_an_item_in_a_never_empty_ring: never_empty_for_a_thief;
    a_claim_hands_on_what_the_thief_saw: never_empty_beside_a_thief;
    a_full_ring_is_used_again_after_a_steal: full_ring_is_used_again;
    an_emptied_ring_is_used_again_after_a_steal: emptied_ring_is_used_again;
    a_slot_is_used_again_after_two_thieves: slot_is_used_again_after_two_thieves;
    the_last_handle_drops_the_rest: last_handle_drops_the_rest;
}
