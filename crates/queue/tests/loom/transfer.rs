//! Models of steals to another queue, drains and overflows, in both orders; `ci/loom.sh` runs them.

#![cfg(brigade_loom)]
#![forbid(unsafe_code)]

use std::iter;

use brigade_queue::{Injector, Order};
use brigade_sync::model::{check, turn};
use loom::thread;

#[macro_use]
mod steps;
use steps::{assert_each_once, pop, push, rest, ring, steal};

/// Compiles only if the atomics are loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A thief takes a run beside the owner, which pops and pushes: the newest is returned, the others are moved.
///
/// Caught: `publish`, or the load of the end in `count`, with Relaxed; a lifo pop that does not count.
fn steal_and_pop<O: Order>() {
    check(3, || {
        let worker = ring::<O>(4, [0, 1, 2]);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || {
            let own = ring(2, []);
            turn();
            let stolen = stealer.steal_and_pop(&own, |count| count);
            let moved = rest(&own);
            if let Ok((item, count)) = stolen {
                assert_eq!(moved.len(), count);
                assert!(moved.iter().all(|older| *older < item));
            }
            [moved, Vec::from_iter(stolen.map(|(item, _)| item))].concat()
        });
        let mut owned = Vec::from_iter(pop(&worker));
        push(&worker, 3).unwrap();
        let stolen = thief.join().unwrap();
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &stolen], 4);
    });
}

/// The owner drains beside a thief.
///
/// Caught: `release` without Release, in either order; `acquire_claims` (fifo) or `released` (lifo) with Relaxed; no
/// `Busy` for a second claim; a release before the last read.
fn drain_beside_a_thief<O: Order>() {
    check(3, || {
        let worker = ring::<O>(2, [0, 1]);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        turn();
        let mut owned: Vec<_> = worker.drain(|count| count).into_iter().flatten().collect();
        owned.extend(push(&worker, 2).err());
        let stolen = thief.join().unwrap();
        assert!(stolen.iter().all(|item| !owned.contains(item)));
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &stolen], 3);
    });
}

/// Another thread reads what the owner claimed, while the owner continues and a thief looks.
///
/// Caught: as above; a fifo pop that releases what is still read.
fn drain_on_another_thread<O: Order>() {
    check(2, || {
        // Loom's threads require `'static`; the ring is leaked.
        let worker = Box::leak(Box::new(ring::<O>(2, [0, 1])));
        let stealer = worker.stealer();
        let drain = worker.drain(|count| count).unwrap();
        let reader = thread::spawn(move || {
            turn();
            drain.collect::<Vec<_>>()
        });
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        let mut owned = Vec::from_iter(push(worker, 2).err());
        owned.extend(push(worker, 3).err());
        owned.extend(pop(worker));
        assert_eq!(reader.join().unwrap(), [0, 1]);
        let stolen = thief.join().unwrap();
        owned.extend(rest(worker));
        assert_each_once(&[&[0, 1], &owned, &stolen], 4);
    });
}

/// A thief fills its ring from the owner's while a second thief steals from it.
///
/// Caught: `publish`, or the load of the end in `count`, with Relaxed; a transfer that publishes before it writes.
fn chained_thieves<O: Order>() {
    check(2, || {
        let worker = ring::<O>(4, [0, 1, 2, 3]);
        let middle = ring::<O>(4, []);
        let (ours, theirs) = (worker.stealer(), middle.stealer());
        let first = thread::spawn(move || {
            turn();
            let taken = ours.steal_half_and_pop(&middle);
            let mut taken = Vec::from_iter(taken.map(|(item, _)| item));
            taken.extend(pop(&middle));
            (taken, middle)
        });
        let second = thread::spawn(move || {
            let last = ring::<O>(4, []);
            turn();
            let _ = theirs.steal(&last, |count| count);
            rest(&last)
        });
        let mut owned = Vec::from_iter(pop(&worker));
        let (mut taken, middle) = first.join().unwrap();
        let further = second.join().unwrap();
        taken.extend(rest(&middle));
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &taken, &further], 4);
    });
}

/// A full or nearly full ring gets what fits from another one, while a thief steals from it.
///
/// Caught: a claim that is not limited to the free slots; free slots counted from the head; `release` without Release;
/// `acquire_claims` (fifo) or `released` (lifo) with Relaxed.
fn into_a_ring_that_is_stolen_from<O: Order>() {
    check(3, || {
        let (victim, own) = (ring::<O>(2, [0, 1]), ring::<O>(2, [2, 3]));
        let stealer = own.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        turn();
        let moved = victim.stealer_ref().steal(&own, |count| count).unwrap_or(0);
        assert!(moved <= 1, "no more than the thief has made room for");
        let mut owned = Vec::from_iter(pop(&own));
        turn();
        let again = victim.stealer_ref().steal(&own, |count| count).unwrap_or(0);
        assert_eq!(victim.len(), 2 - moved - again);
        let stolen = thief.join().unwrap();
        owned.extend(rest(&own));
        assert_each_once(&[&owned, &stolen, &rest(&victim)], 4);
    });
}

/// The owner steals from its own ring, as a worker does to run its oldest job, and moves the items to its own tail.
///
/// Caught: `release` without Release, in either order; lifo `released` with Relaxed; free slots that are not looked for.
fn owner_as_its_own_thief<O: Order>() {
    check(3, || {
        let worker = ring::<O>(4, [0, 1, 2]);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        turn();
        let own = worker.stealer_ref().steal_half_and_pop(&worker);
        let mut owned = Vec::from_iter(own.map(|(item, _)| item));
        owned.extend(steal(worker.stealer_ref()));
        push(&worker, 3).unwrap();
        owned.extend(pop(&worker));
        let stolen = thief.join().unwrap();
        owned.extend(rest(&worker));
        assert_each_once(&[&owned, &stolen], 4);
    });
}

/// The owner moves half of a full ring to the injector beside a thief.
///
/// Caught: a claim that swaps instead of comparing; `release` without Release, in either order; `acquire_claims` (fifo)
/// or `released` (lifo) with Relaxed.
fn overflow_beside_a_thief<O: Order>() {
    check(3, || {
        let worker = ring::<O>(2, [0, 1]);
        let injector = Injector::new();
        let stealer = worker.stealer();
        let thief = thread::spawn(move || Vec::from_iter(steal(&stealer)));
        turn();
        let mut moved = injector.take_overflow(&worker);
        for item in 2..4 {
            turn();
            if worker.push(item).is_err() {
                injector.push_accepted(item);
                moved += 1;
            }
        }
        let stolen = thief.join().unwrap();
        let spilled: Vec<_> = iter::from_fn(|| injector.pop()).collect();
        assert_eq!(spilled.len(), moved);
        assert_each_once(&[&rest(&worker), &stolen, &spilled], 4);
    });
}

in_both_orders! {
    a_thief_gets_its_newest_item: steal_and_pop;
    an_item_is_drained_or_stolen: drain_beside_a_thief;
    a_drain_may_end_on_another_thread: drain_on_another_thread;
    stolen_items_can_be_stolen_again: chained_thieves;
    a_thief_moves_as_much_as_fits_beside_its_thief: into_a_ring_that_is_stolen_from;
    an_owner_may_be_its_own_thief: owner_as_its_own_thief;
    an_overflow_leaves_nothing_behind: overflow_beside_a_thief;
}
