//! The deque on one thread, and beside thieves.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::panic;
use std::sync::Arc;
use std::thread;
use std::vec::Vec;

use brigade_sync::OwnerEnd;

use super::*;

/// Takes all that it may.
fn all<T>(_: Candidate<'_, T>, count: usize) -> usize {
    count
}

/// A deque with these items, none of which is public.
fn private<T: Default>(items: impl IntoIterator<Item = T>) -> Worker<T> {
    let owner = Worker::new();
    core::iter::once(T::default()).chain(items).for_each(|item| owner.push(item));
    assert!(owner.stealer().steal(&Worker::new(), |_, _| 1).is_ok(), "the only public one");
    owner
}

#[test]
fn the_owner_takes_the_newest_and_a_thief_the_oldest_half() {
    let (owner, thief) = (private(0..10), Worker::new());
    assert_eq!(owner.pop(), Some(9));
    assert_eq!(owner.stealer().steal(&thief, all), Ok(0));
    assert_eq!((thief.len(), owner.len()), (4, 4));
    let rest = core::iter::from_fn(|| owner.pop());
    assert!(rest.eq([8, 7, 6, 5]));
    assert!(core::iter::from_fn(|| thief.pop()).eq([4, 3, 2, 1]));
    assert_eq!(owner.pop(), None);
    owner.push(11);
    assert_eq!(owner.pop(), Some(11));
}

#[test]
fn a_thief_may_refuse_its_find() {
    let (owner, thief) = (private(0..40), Worker::new());
    let refused = owner.stealer().steal(&thief, |oldest, count| {
        assert_eq!((*oldest.item, oldest.position, count), (0, 1, 16));
        0
    });
    assert_eq!(refused, Err(crate::StealError::Empty));
    assert_eq!(owner.stealer().steal(&thief, |_, _| 1), Ok(0));
    let next = owner.stealer().steal(&thief, |oldest, _| {
        assert_eq!((*oldest.item, oldest.position), (1, 2));
        1
    });
    assert_eq!(next, Ok(1));
    assert!((2..40).rev().eq(core::iter::from_fn(|| owner.pop())));
}

#[test]
fn a_thief_may_take_only_like_items() {
    let (owner, thief) = (private([2, 4, 6, 7, 8, 10, 12, 14, 16, 18]), Worker::new());
    let even = |oldest: Candidate<'_, u32>, _: usize| oldest.count_while(|item| item % 2 == 0);
    assert_eq!(owner.stealer().steal(&thief, even), Ok(2));
    assert!(core::iter::from_fn(|| thief.pop()).eq([6, 4]));
    assert_eq!(owner.stealer().steal(&thief, even), Err(crate::StealError::Empty));
    assert_eq!(owner.stealer().steal(&thief, |_, _| 1), Ok(7));
    assert_eq!(owner.stealer().steal(&thief, even), Ok(8), "and no more than were claimed");
    assert_eq!((thief.len(), owner.len()), (2, 3));
}

#[test]
fn it_grows_with_its_items_in_order() {
    let (owner, thief) = (Worker::new(), Worker::new());
    for round in 0..5 {
        (0..1000).for_each(|item| owner.push(item));
        for expected in 0..round * 100 {
            assert_eq!(owner.stealer().steal(&thief, |_, _| 1), Ok(expected));
        }
        assert!((round * 100..1000).rev().eq(core::iter::from_fn(|| owner.pop())));
    }
}

#[test]
fn remaining_items_drop_with_the_last_end() {
    let item = Arc::new(());
    let owner = Worker::new();
    (0..100).for_each(|_| owner.push(item.clone()));
    let stealer = owner.stealer();
    drop(owner);
    assert_eq!((Arc::strong_count(&item), stealer.len()), (101, 100));
    drop(stealer.steal(&Worker::new(), |_, _| 1));
    assert_eq!(Arc::strong_count(&item), 100);
    drop(stealer);
    assert_eq!(Arc::strong_count(&item), 1);
}

fn forgets<T>(owner: &Worker<T>, is: impl FnOnce(&T) -> bool) -> bool {
    // SAFETY: no closure here uses the deque, nor panics.
    unsafe { owner.forget_newest_if(is) }
}

#[test]
fn the_newest_item_is_forgotten_undropped() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("it is dropped");
        }
    }
    let owner = private([None, Some(Loud)]);
    assert!(!forgets(&owner, |_| false));
    assert!(forgets(&owner, Option::is_some));
    assert!(forgets(&owner, Option::is_none));
    assert!(!forgets(&owner, |_| unreachable!("there is none")));
    assert_eq!((owner.len(), owner.position()), (0, 1));
}

#[test]
fn a_limits_panic_leaves_all_in_place() {
    let (owner, thief) = (Worker::new(), Worker::new());
    (0..3).for_each(|item| owner.push(item));
    let steal = || owner.stealer().steal(&thief, |_, _| panic!("refused"));
    assert!(panic::catch_unwind(panic::AssertUnwindSafe(steal)).is_err());
    assert!(!forgets(&owner, |_| false));
    assert_eq!((owner.pop(), owner.stealer().steal(&thief, all)), (Some(2), Ok(0)));
    assert!(forgets(&owner, |&newest| newest == 1));
    assert_eq!((owner.pop(), thief.pop()), (None, None));
}

#[test]
fn the_oldest_item_is_public_and_a_steal_publishes_half() {
    let (owner, thief) = (Worker::new(), Worker::new());
    let public = || owner.shared_for_tests().public_len();
    (0..5).for_each(|item| owner.push(item));
    assert_eq!(public(), 1);
    assert_eq!((owner.stealer().steal(&thief, all), thief.len(), public()), (Ok(0), 0, 0));
    owner.push(5);
    assert_eq!(public(), 3);
    assert!(!forgets(&thief, |_| unreachable!("it is empty")));
    (0..5).for_each(|_| _ = owner.pop());
    owner.push(6);
    assert_eq!((owner.len(), public()), (1, 1));
    assert!(!forgets(&owner, |_| true), "a pop asks for the lock");
}

#[test]
fn public_items_are_taken_once_and_later_ones_private() {
    let (owner, thief) = (Worker::new(), Worker::new());
    let claimed = || owner.shared_for_tests().claimed.load(Ordering::Relaxed);
    (1..4).for_each(|item| owner.push(item));
    owner.publish();
    assert_eq!((owner.pop(), claimed()), (Some(3), 2), "it claims what is left");
    owner.push(4);
    assert_eq!((owner.pop(), claimed()), (Some(4), 2), "it needs no lock for this");
    assert!(!forgets(&owner, |_| true), "a pop asks for the lock");
    assert_eq!(owner.stealer().steal(&thief, |_, _| 0), Err(crate::StealError::Empty));
    assert_eq!(claimed(), 2, "a thief that leaves them does not change that");
    (5..8).for_each(|item| owner.push(item));
    assert_eq!(owner.stealer().steal(&thief, all), Ok(1), "of five, and two that are public");
    assert_eq!((thief.pop(), thief.pop(), claimed()), (Some(2), None, 2));
    assert_eq!(owner.stealer().steal(&thief, all), Ok(5));
    assert_eq!((thief.pop(), owner.pop(), owner.pop()), (Some(6), Some(7), None));
}

#[test]
fn each_item_is_taken_once() {
    const ITEMS: usize = if cfg!(miri) { 200 } else { 100_000 };
    let owner = Worker::new();
    let taken: Vec<_> = (0..ITEMS).map(|_| AtomicUsize::new(0)).collect();
    let done = AtomicBool::new(false);
    let take = |item: usize| assert_eq!(taken[item].fetch_add(1, SeqCst), 0, "{item}");
    thread::scope(|scope| {
        for _ in 0..2 {
            let stealer = owner.stealer();
            let (done, take) = (&done, &take);
            scope.spawn(move || {
                let own = Worker::new();
                while !done.load(SeqCst) {
                    let limit = |_: Candidate<'_, usize>, count: usize| count.min(2);
                    stealer.steal(&own, limit).into_iter().for_each(take);
                    core::iter::from_fn(|| own.pop()).for_each(take);
                }
            });
        }
        for item in 0..ITEMS {
            owner.push(item);
            if item % 5 == 0 {
                owner.publish();
            }
            // Short, so that both ends meet.
            if item % 3 != 0 {
                owner.pop().into_iter().for_each(take);
            }
        }
        core::iter::from_fn(|| owner.pop()).for_each(take);
        while !owner.is_empty() {
            thread::yield_now();
        }
        done.store(true, SeqCst);
    });
    assert!(taken.iter().all(|count| count.load(SeqCst) == 1));
}

#[test]
fn an_empty_deque_frees_slots_beside_thieves() {
    let owner = Worker::new();
    let slots = || owner.shared_for_tests().buffer.lock().len();
    owner.shrink();
    assert_eq!(slots(), 0);
    (0..5_000).for_each(|item| owner.push(item));
    owner.shrink();
    assert_eq!(slots(), 8_192, "it has items");
    let thief = Worker::new();
    assert_eq!(owner.stealer().steal(&thief, |_, _| 1), Ok(0));
    assert!((1..5_000).rev().eq(core::iter::from_fn(|| owner.pop())));
    {
        let _claims = owner.shared_for_tests().buffer.lock();
        owner.shrink();
    }
    assert_eq!(slots(), 8_192, "a thief is inside");
    owner.shrink();
    assert_eq!(slots(), 1_024);
    (0..5_000).for_each(|item| owner.push(item));
    assert_eq!(owner.stealer().steal(&thief, |_, _| 1), Ok(0));
    assert!((1..5_000).rev().eq(core::iter::from_fn(|| owner.pop())));
}
