//! Which operations allocate, by an allocator that counts and can be limited. So a test binary of its own.
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![cfg(not(brigade_loom))]

use std::cell::Cell;
use std::error::Error;
use std::hint::black_box;

use brigade_queue::{Cursor, Injector, NewError, Order, ShardedInjector, Worker, fifo, lifo};
use brigade_testkit::Observed;

thread_local! {
    /// The number of allocations of this thread.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    /// The largest allocation that succeeds on this thread.
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The system's allocator, counted and limited by thread.
#[global_allocator]
static ALLOCATOR: Observed = Observed::new(
    |bytes| {
        COUNT.set(COUNT.get() + 1);
        bytes <= MOST.get()
    },
    |_| (),
);

/// Counts the allocations of a closure.
fn allocations(run: impl FnOnce()) -> usize {
    let before = COUNT.get();
    run();
    COUNT.get() - before
}

#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|| drop(black_box(Box::new(1)))), 1);
    assert_eq!(allocations(|| drop(black_box(vec![1, 2, 3]))), 1);
    assert!(allocations(|| drop(black_box(Worker::<u32, fifo::Fifo>::new(4)))) >= 1);
}

/// Calls every operation of an owner and a thief.
fn use_it_all<O: Order>(worker: &Worker<u64, O>, other: &Worker<u64, O>) {
    let stealer = worker.stealer();
    for item in 0..40 {
        worker.push(item).unwrap_or_else(|_| _ = worker.pop());
        _ = worker.push_counted(item);
        worker.extend(item..item + 3);
        _ = black_box((
            worker.len(),
            worker.is_empty(),
            worker.spare_capacity(),
            stealer.version(),
        ));
        _ = black_box(stealer.steal_one());
        _ = black_box(stealer.steal(other, |count| count / 2));
        _ = black_box(worker.stealer_ref().steal_and_pop(other, |count| count / 2));
        _ = black_box(stealer.clone().steal_half_and_pop(other));
        black_box(worker.drain(|count| count / 2).map(|mut drain| drain.next())).ok();
        _ = black_box(worker.pop());
        while other.pop().is_some() {}
    }
}

#[test]
fn a_made_ring_allocates_nothing() {
    fn body<O: Order>() {
        let (worker, other) = (Worker::<u64, O>::new(8), Worker::<u64, O>::new(8));
        assert_eq!(allocations(|| use_it_all(&worker, &other)), 0);
        assert_eq!(allocations(|| while worker.pop().is_some() {}), 0);
        assert_eq!(allocations(|| drop((worker, other))), 0);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn any_capacity_allocates_as_often() {
    fn body<O: Order>() {
        let made = |capacity| allocations(|| drop(black_box(Worker::<u64, O>::new(capacity))));
        assert_eq!((made(1), made(2), made(1 << 12)), (2, 2, 2), "the slots, and the words");
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_ring_without_memory_is_an_error() {
    fn body<O: Order>() {
        MOST.set(1 << 20);
        let refused = [
            Worker::<[u8; 1 << 20], O>::try_new(1 << 31).err(),
            Worker::<[u8; 1 << 20], O>::try_new(2).err(),
            Worker::<u8, O>::try_new(1 << 31).err(),
        ];
        let made = Worker::<u8, O>::try_new(1 << 20);
        MOST.set(usize::MAX);
        for error in refused {
            let error = error.expect("there is no memory for it");
            assert!(matches!(error, NewError::Memory(_)), "{error:?}");
            assert!(
                error.to_string().starts_with("no memory for the slots of a ring: "),
                "{error}"
            );
            assert!(error.source().is_some(), "the allocator's own error is below it");
        }
        assert!(made.is_ok());
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

/// Passes items through an injector in every way.
fn flow<O: Order>(injector: &Injector<usize>, worker: &Worker<usize, O>, items: usize) {
    for item in 0..items {
        injector.push(item).unwrap();
        injector.push_accepted(item);
        worker.extend(0..2);
        _ = black_box(injector.take_overflow(worker));
        _ = black_box(injector.pop_batch_into(worker, 3));
        while worker.pop().or_else(|| injector.pop()).is_some() {}
    }
    assert!(injector.is_empty());
}

#[test]
fn a_steady_flow_in_a_warm_injector_allocates_nothing() {
    fn body<O: Order>() {
        let (injector, worker) = (Injector::new(), Worker::<usize, O>::new(4));
        // Past the end of the first block, so that a second one is allocated.
        flow(&injector, &worker, 1_000);
        assert_eq!(allocations(|| flow(&injector, &worker, 5_000)), 0);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn an_injector_allocates_once_for_511_items() {
    let injector = Injector::new();
    let fill =
        |items: usize| allocations(|| (0..items).for_each(|item| injector.push(item).unwrap()));
    assert_eq!(fill(510), 0, "the first block came with the injector");
    assert_eq!(fill(1), 1, "the push to the last slot of a block allocates the next");
    assert_eq!(fill(510), 0);
    assert_eq!(fill(1), 1);
    assert_eq!(allocations(|| while injector.pop().is_some() {}), 0);
    assert_eq!(fill(2 * 511), 0, "two blocks are used again");
}

#[test]
fn a_rejected_push_keeps_no_block() {
    let injector = Injector::new();
    (0..510).for_each(|item| injector.push(item).unwrap());
    injector.close();
    assert_eq!(allocations(|| (0..100).for_each(|item| assert!(injector.push(item).is_err()))), 0);
}

#[test]
fn a_steady_flow_in_warm_shards_allocates_nothing() {
    let (injector, cursor) = (ShardedInjector::new(2), Cursor::default());
    let flow = |items| {
        for item in 0..items {
            injector.shard(item).push(item).unwrap();
            assert_eq!(injector.pop(&cursor), Some(item));
        }
    };
    flow(3_000);
    assert_eq!(allocations(|| flow(10_000)), 0);
}
