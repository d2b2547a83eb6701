//! Models of the deque of forks, with one thief and with two; `ci/loom.sh` runs them.
//!
//! Both sides of the asymmetric fence are `SeqCst` fences here. Items are boxed numbers, of which loom sees the box: an item that
//! is read before it was written, or while it is written, fails the model.

#![cfg(brigade_loom)]

use std::iter;
use std::sync::Arc;

use brigade_queue::StealError;
use brigade_queue::deque::{Stealer, Worker};
use brigade_sync::OwnerEnd;
use brigade_sync::model::{check, turn};
use loom::cell::Cell;
use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread::{self, JoinHandle};

/// Compiles only if the atomics are loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A number in memory that loom tracks: a thread that sees the item must see the number.
struct Item(Cell<u32>);

fn item(number: u32) -> Item {
    Item(Cell::new(number))
}

fn push(worker: &Worker<Item>, number: u32) {
    turn();
    worker.push(item(number));
}

fn pop(worker: &Worker<Item>) -> Option<u32> {
    turn();
    worker.pop().map(|item| item.0.get())
}

/// Removes the newest item if it has that number.
fn forget(worker: &Worker<Item>, number: u32) -> Option<u32> {
    turn();
    // SAFETY: the closure does not use the deque.
    unsafe { worker.forget_newest_if(|item| item.0.get() == number) }.then_some(number)
}

/// Takes as many items as `limit` says; the second try is for one that met another thief.
fn steal(stealer: &Stealer<Item>, limit: usize) -> Vec<u32> {
    let rest = Worker::new();
    let take = || {
        turn();
        stealer.steal(&rest, |oldest, count| {
            let _ = oldest.item.0.get();
            limit.min(count)
        })
    };
    let first = match take() {
        Err(StealError::Busy) => take(),
        other => other,
    };
    let mut items = Vec::from_iter(first.ok().map(|item| item.0.get()));
    items.extend(iter::from_fn(|| rest.pop()).map(|item| item.0.get()));
    items
}

fn thief(worker: &Worker<Item>, limit: usize) -> JoinHandle<Vec<u32>> {
    let stealer = worker.stealer();
    thread::spawn(move || steal(&stealer, limit))
}

/// Creates a deque with these items.
fn deque(numbers: impl IntoIterator<Item = u32>) -> Worker<Item> {
    let worker = Worker::new();
    numbers.into_iter().for_each(|number| worker.push(item(number)));
    worker
}

/// Creates a deque with these items, none of which is public.
fn private(numbers: impl IntoIterator<Item = u32>) -> Worker<Item> {
    let worker = deque(iter::once(u32::MAX).chain(numbers));
    assert_eq!(steal(&worker.stealer(), 1), [u32::MAX], "the only public one");
    worker
}

/// Asserts that each number was taken once.
#[track_caller]
fn assert_each_once(worker: &Worker<Item>, parts: &[&[u32]], count: u32) {
    let mut all = parts.concat();
    all.extend(iter::from_fn(|| worker.pop()).map(|item| item.0.get()));
    all.sort_unstable();
    assert_eq!(all, (0..count).collect::<Vec<_>>());
}

/// The last item is the owner's or the thief's.
///
/// Caught: no fence in `pop`; none in `steal`; a `pop_claimed` that does not compare with `top`, or does not wait.
#[test]
fn the_owner_pops_beside_a_thief() {
    check(3, || {
        let worker = private([0]);
        let thief = thief(&worker, 1);
        push(&worker, 1);
        let mut owned = Vec::from_iter(pop(&worker));
        owned.extend(pop(&worker));
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 2);
    });
}

/// A fork that is taken back with [`OwnerEnd::forget_newest_if`], in place of a pop.
///
/// Caught: no fence in `forget_newest_if`; a thief that puts back the whole claim.
#[test]
fn the_owner_forgets_beside_a_thief() {
    check(3, || {
        let worker = private([0]);
        let thief = thief(&worker, 1);
        push(&worker, 1);
        let mut owned = Vec::from_iter(forget(&worker, 1));
        owned.extend(forget(&worker, 0));
        owned.extend(pop(&worker));
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 2);
    });
}

/// Two thieves: one claims at a time.
///
/// Caught: a push, or the load of `bottom` in `steal`, with Relaxed; too many free slots; a push that makes items public without the
/// lock.
#[test]
fn the_owner_pops_beside_two_thieves() {
    check(2, || {
        let worker = private([0, 1]);
        let thieves = [thief(&worker, 1), thief(&worker, 1)];
        let mut owned = Vec::from_iter(pop(&worker));
        push(&worker, 2);
        owned.extend(forget(&worker, 2));
        let [one, two] = thieves.map(|thief| thief.join().unwrap());
        assert_each_once(&worker, &[&owned, &one, &two], 3);
    });
}

/// A thief claims, looks at the oldest item, and takes none: the owner may then use the slot again.
///
/// Caught: the load of `claimed` in `pop`, or in `forget_newest_if`, with Relaxed; the store that puts the
/// claim back with Relaxed; a push that makes items public without the lock.
#[test]
fn a_restored_claim_leaves_item_and_slot() {
    check(3, || {
        let worker = private([0]);
        let thief = thief(&worker, 0);
        let mut owned = Vec::from_iter(pop(&worker));
        push(&worker, 1);
        owned.extend(forget(&worker, 1));
        push(&worker, 2);
        assert_eq!(thief.join().unwrap(), []);
        assert_each_once(&worker, &[&owned], 3);
    });
}

/// A thief claims two items and takes one.
///
/// Caught: a thief that does not move `top`; too many free slots.
#[test]
fn a_partly_restored_claim_leaves_that_part() {
    check(3, || {
        let worker = private([0, 1, 2]);
        let thief = thief(&worker, 1);
        let mut owned = Vec::from_iter(pop(&worker));
        owned.extend(pop(&worker));
        push(&worker, 3);
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 4);
    });
}

/// A thief takes two items, the second of which the owner pops.
///
/// Caught: no claim; a thief that takes what it claimed, whatever `bottom` is.
#[test]
fn a_batch_beside_the_owner_is_taken_once() {
    check(3, || {
        let worker = private([0, 1, 2]);
        let thief = thief(&worker, 2);
        let mut owned = Vec::from_iter(pop(&worker));
        owned.extend(pop(&worker));
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 3);
    });
}

/// The slots are full, so the push replaces them.
///
/// Caught: too many free slots.
#[test]
fn the_slots_grow_beside_a_thief() {
    check(3, || {
        let worker = deque([0, 1]);
        let thief = thief(&worker, 1);
        push(&worker, 2);
        let owned = Vec::from_iter(pop(&worker));
        push(&worker, 3);
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 4);
    });
}

/// What the owner pushed before it popped is published too.
///
/// Caught: a push with Relaxed. Not caught: the store of `bottom` in `pop` with Relaxed, which to loom continues the release
/// sequence.
#[test]
fn an_item_below_a_popped_item_is_whole() {
    check(3, || {
        let worker = Worker::new();
        let thief = thief(&worker, 1);
        push(&worker, 0);
        push(&worker, 1);
        let owned = Vec::from_iter(pop(&worker));
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 2);
    });
}

/// The last end drops what is left, on any thread.
///
/// Caught: a push with Relaxed.
#[test]
fn the_last_end_drops_the_rest() {
    check(3, || {
        let item = Arc::new(());
        let worker = Worker::new();
        // The deque's reference count is not loom's: this one replaces it, and the worker is dropped before it.
        let last = loom::sync::Arc::new(worker.stealer());
        let other = last.clone();
        let thief = thread::spawn(move || {
            turn();
            drop(other.steal(&Worker::new(), |_, _| 1));
            turn();
            drop(other);
        });
        for _ in 0..2 {
            turn();
            worker.push(item.clone());
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

/// A public item is the owner's or the thief's, which passes no fence; what is pushed in its place is not public.
///
/// Caught: a thief that passes no fence for what is not public.
#[test]
fn the_owner_pops_public_items_beside_a_thief() {
    check(3, || {
        let worker = deque([0]);
        worker.publish();
        let thief = thief(&worker, 1);
        let mut owned = Vec::from_iter(pop(&worker));
        push(&worker, 1);
        owned.extend(pop(&worker));
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 2);
    });
}

/// As above, with [`OwnerEnd::forget_newest_if`], and one item that is public under two that are not.
///
/// Caught: a thief that takes more than what is public without a fence.
#[test]
fn the_owner_forgets_public_items_beside_a_thief() {
    check(3, || {
        let worker = deque([0]);
        worker.publish();
        push(&worker, 1);
        push(&worker, 2);
        let thief = thief(&worker, 2);
        let mut owned = Vec::from_iter(forget(&worker, 2));
        owned.extend(forget(&worker, 1));
        owned.extend(forget(&worker, 0));
        owned.extend(pop(&worker));
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 3);
    });
}

/// Items become public beside a thief, and beside another.
///
/// Caught: a thief that leaves a claim too high without a fence.
#[test]
fn the_owner_publishes_beside_thieves() {
    check(2, || {
        let worker = private([0, 1]);
        let thieves = [thief(&worker, 1), thief(&worker, 2)];
        turn();
        worker.publish();
        let owned = Vec::from_iter(pop(&worker));
        let [one, other] = thieves.map(|thief| thief.join().unwrap());
        assert_each_once(&worker, &[&owned, &one, &other], 2);
    });
}

/// An owner that pushes and then reads a flag, and a thread that sets it, passes the heavy side of the fence, and looks: one of the two
/// sees the other.
///
/// Caught: no fence in `push`; none in `Stealer::fence`.
#[test]
fn a_push_is_seen_or_its_owner_sees_the_look() {
    check(3, || {
        let worker = deque([0]);
        assert_eq!(pop(&worker), Some(0));
        let (stealer, flag) = (worker.stealer(), loom::sync::Arc::new(AtomicBool::new(false)));
        let looks = thread::spawn({
            let flag = flag.clone();
            move || {
                turn();
                flag.store(true, Relaxed);
                stealer.fence();
                !stealer.is_empty()
            }
        });
        push(&worker, 1);
        let saw_flag = flag.load(Relaxed);
        assert!(looks.join().unwrap() || saw_flag);
    });
}

/// The owner gives back slots beside a thief that may hold the lock, and pushes into the new ones.
///
/// Caught: slots that are replaced while there are items, or without the lock.
#[test]
fn the_slots_shrink_beside_a_thief() {
    check(3, || {
        let worker = deque([0, 1, 2]);
        let mut owned = Vec::from_iter(pop(&worker));
        owned.extend(pop(&worker));
        let thief = thief(&worker, 1);
        owned.extend(pop(&worker));
        turn();
        worker.shrink();
        push(&worker, 3);
        let stolen = thief.join().unwrap();
        assert_each_once(&worker, &[&owned, &stolen], 4);
    });
}
