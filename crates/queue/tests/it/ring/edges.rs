//! The edges of a ring: its capacity, its errors, its handles, and the items left when its owner is dropped.

use std::error::Error;

use crate::ledger::{Item, Ledger};
use brigade_queue::{Injector, Order, ShardedInjector, StealError, Worker, fifo, lifo};

/// Checks that a ring of `asked` has `expected` slots, which can all be used.
fn has_capacity<O: Order>(asked: usize, expected: usize) {
    let worker = Worker::<u8, O>::try_new(asked).unwrap();
    assert_eq!((worker.capacity(), worker.spare_capacity()), (expected, expected), "of {asked}");
    worker.extend(std::iter::repeat(7));
    assert_eq!((worker.len(), worker.spare_capacity()), (expected, 0), "of {asked}");
    assert_eq!(worker.push(8), Err(8), "of {asked}");
}

#[test]
fn a_capacity_rounds_up_to_a_power_of_two() {
    fn body<O: Order>() {
        for (asked, expected) in [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (100, 128)] {
            has_capacity::<O>(asked, expected);
        }
        for power in [7, 8, 9, 12] {
            let slots = 1 << power;
            has_capacity::<O>(slots - 1, slots);
            has_capacity::<O>(slots, slots);
            has_capacity::<O>(slots + 1, 2 * slots);
        }
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
#[cfg(target_pointer_width = "64")]
fn more_slots_than_positions_are_an_error() {
    fn body<O: Order>() {
        for asked in [(1 << 31) + 1, 1 << 32, (1 << 32) + 1, 1 << 63, usize::MAX] {
            let error = Worker::<u8, O>::try_new(asked).unwrap_err();
            assert_eq!(error, brigade_queue::NewError::Capacity { asked, most: 1 << 31 });
            // Also for items without a size.
            assert!(Worker::<(), O>::try_new(asked).is_err());
        }
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
#[cfg(target_pointer_width = "64")]
fn the_text_of_an_error_says_what_to_do() {
    let error = fifo::Worker::<u8>::try_new(usize::MAX).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a ring holds at most 2147483648 items, not 18446744073709551615; ask for fewer"
    );
}

#[test]
#[should_panic(expected = "ask for fewer")]
#[cfg(target_pointer_width = "64")]
fn an_impossible_ring_panics_with_the_errors_text() {
    drop(lifo::Worker::<u8>::new(usize::MAX));
}

#[test]
#[should_panic(expected = "ask for fewer")]
fn too_many_shards_panic_with_what_to_do() {
    drop(ShardedInjector::<u8>::new((1 << 16) + 1));
}

#[test]
fn a_steal_error_says_what_to_do() {
    fn text(error: &dyn Error) -> String {
        error.to_string()
    }
    assert!(text(&StealError::Empty).ends_with("try another queue"));
    assert!(text(&StealError::Busy).contains("try again"));
    assert_ne!(StealError::Empty, StealError::Busy);
}

#[test]
fn stealers_of_one_ring_are_equal() {
    fn body<O: Order>() {
        let (one, other) = (Worker::<u8, O>::new(4), Worker::<u8, O>::new(4));
        assert_eq!(one.stealer(), one.stealer().clone());
        assert_eq!(one.stealer_ref(), &one.stealer());
        assert_ne!(one.stealer(), other.stealer());
        assert_ne!(one.stealer_ref(), other.stealer_ref());
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_queue_is_debug_for_any_item() {
    struct Opaque;
    fn body<O: Order>() {
        let worker = Worker::<Opaque, O>::new(4);
        worker.extend([Opaque, Opaque, Opaque]);
        assert_eq!(format!("{worker:?}"), "Worker { len: 3, capacity: 4, .. }");
        assert_eq!(format!("{:?}", worker.stealer()), "Stealer { len: 3, .. }");
        let drain = worker.drain(|count| count - 1).unwrap();
        assert_eq!(format!("{drain:?}"), "Drain { len: 2, .. }");
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
    assert_eq!(
        format!("{:?}", Injector::<Opaque>::new()),
        "Injector { len: 0, is_closed: false, .. }"
    );
}

#[test]
fn items_of_a_dropped_worker_can_be_stolen() {
    fn body<O: Order>() {
        let ledger = Ledger::open();
        let worker = Worker::<Item, O>::new(8);
        worker.extend(ledger.items(6));
        let (stealer, own) = (worker.stealer(), Worker::<Item, O>::new(8));
        drop(worker);
        assert_eq!((stealer.len(), ledger.alive().len()), (6, 6));
        assert_eq!(stealer.steal_one().map(|item| item.0), Ok(0));
        assert_eq!(stealer.steal(&own, |count| count - 2), Ok(3));
        assert_eq!(
            own.drain(|count| count).unwrap().map(|item| item.0).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        assert_eq!(ledger.alive(), [4, 5]);
        drop(stealer);
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn the_last_handle_drops_the_rest() {
    fn body<O: Order>() {
        let ledger = Ledger::open();
        let worker = Worker::<Item, O>::new(8);
        worker.extend(ledger.items(3));
        let stealers = [worker.stealer(), worker.stealer()];
        drop(worker);
        let [first, last] = stealers;
        drop(first);
        assert_eq!(ledger.alive().len(), 3);
        drop(last);
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}
