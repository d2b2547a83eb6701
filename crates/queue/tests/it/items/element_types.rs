//! Items of every size, alignment and bit pattern come out as they were pushed.

use std::fmt::Debug;
use std::marker::PhantomPinned;
use std::num::NonZeroU8;
use std::thread;

use brigade_queue::{Injector, Order, Worker, fifo, lifo};

/// Moves items by every operation; `make` creates the item with a number.
fn comes_out<T: Debug + PartialEq, O: Order>(make: impl Fn(usize) -> T) {
    let (worker, thief) = (Worker::<T, O>::new(4), Worker::<T, O>::new(4));
    for lap in 0..3 {
        worker.extend((0..4).map(|number| make(lap + number)));
        assert_eq!(worker.push(make(9)), Err(make(9)));
        assert_eq!(worker.stealer_ref().steal(&thief, |_| 2), Ok(2));
        assert!(worker.drain(|_| 1).unwrap().eq([make(lap + 2)]));
        assert_eq!(worker.pop(), Some(make(lap + 3)));
        assert_eq!(worker.pop(), None);
        assert_eq!(thief.stealer_ref().steal_one(), Ok(make(lap)));
        assert_eq!(thief.stealer_ref().steal_and_pop(&worker, |_| 2), Ok((make(lap + 1), 0)));
    }
    // These are dropped with the ring.
    worker.extend((0..2).map(make));
}

/// Moves items through an injector, past the end of its first block of 511.
fn comes_out_of_an_injector<T: Debug + PartialEq>(make: impl Fn(usize) -> T) {
    let (injector, worker) = (Injector::new(), fifo::Worker::new(4));
    injector.push_batch((0..510).map(&make).collect()).unwrap();
    (510..514).for_each(|number| injector.push(make(number)).unwrap());
    for number in 0..510 {
        assert_eq!(injector.pop(), Some(make(number)));
    }
    assert_eq!(injector.pop_batch_into(&worker, usize::MAX), Some(make(510)));
    assert_eq!(injector.pop_batch_into(&worker, 2), Some(make(511)));
    assert_eq!((worker.pop(), worker.pop()), (Some(make(512)), None));
    assert_eq!(injector.len(), 1, "it is dropped with the injector");
}

fn comes_out_of_all<T: Debug + PartialEq>(make: impl Fn(usize) -> T) {
    comes_out::<T, lifo::Lifo>(&make);
    comes_out::<T, fifo::Fifo>(&make);
    comes_out_of_an_injector(make);
}

#[test]
fn items_without_size_are_counted() {
    comes_out_of_all(|_| ());
}

#[test]
fn items_without_size_are_dropped_once() {
    use std::cell::Cell;
    thread_local!(static DROPS: Cell<u32> = const { Cell::new(0) });
    struct Unit;
    impl Drop for Unit {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
        }
    }
    fn body<O: Order>() {
        DROPS.set(0);
        let (worker, injector) = (Worker::<Unit, O>::new(8), Injector::new());
        worker.extend([const { Unit }; 6]);
        drop(worker.pop());
        assert_eq!(injector.take_overflow(&worker), 3);
        assert_eq!(DROPS.get(), 1);
        drop(worker);
        assert_eq!(DROPS.get(), 3);
        drop(injector);
        assert_eq!(DROPS.get(), 6);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn never_zero_items_come_out() {
    comes_out_of_all(|number| NonZeroU8::new(number as u8 | 1).unwrap());
}

#[test]
fn references_come_out() {
    static PLACES: [u8; 16] = [3; 16];
    comes_out_of_all(|number| std::ptr::from_ref(&PLACES[number % 16]));
    comes_out_of_all(|number| &PLACES[number % 16]);
}

#[test]
fn truth_values_come_out() {
    comes_out_of_all(|number| number % 2 == 0);
}

#[test]
fn boxes_come_out() {
    comes_out_of_all(|number| Box::new(number.to_string()));
}

#[test]
fn aligned_items_come_out() {
    #[derive(Debug, PartialEq)]
    #[repr(align(128))]
    struct Aligned(usize);
    comes_out_of_all(Aligned);
}

#[test]
fn items_without_unpin_come_out() {
    #[derive(Debug, PartialEq)]
    struct Pinned(usize, PhantomPinned);
    comes_out_of_all(|number| Pinned(number, PhantomPinned));
}

/// Runs a function on a thread with a stack of `kibibytes` KiB.
fn on_a_stack_of(kibibytes: usize, run: fn()) {
    thread::Builder::new().stack_size(kibibytes << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn items_of_a_mebibyte_come_out() {
    on_a_stack_of(64 << 10, || {
        fn make(number: usize) -> [u8; 1 << 20] {
            [number as u8; 1 << 20]
        }
        comes_out::<_, lifo::Lifo>(make);
        comes_out::<_, fifo::Fifo>(make);
    });
}

/// 256 of them take 4 MiB.
type Large = [u8; 16 << 10];

#[test]
fn queues_beyond_the_stack_are_made_on_the_heap() {
    on_a_stack_of(256, || {
        assert_eq!(lifo::Worker::<Large>::new(256).pop(), None);
        assert_eq!(fifo::Worker::<Large>::new(256).pop(), None);
        assert_eq!(Injector::<Large>::new().len(), 0);
    });
}

#[test]
fn items_of_16_kib_pass_over_a_small_stack() {
    // Separate functions, since a debug build keeps every copy of an item in its function's frame.
    fn push<O: Order>(worker: &Worker<Large, O>) {
        assert!(worker.push([1; 16 << 10]).is_ok());
    }
    fn pop<O: Order>(worker: &Worker<Large, O>) {
        assert!(worker.pop().is_some_and(|item| item[77] == 1));
    }
    fn body<O: Order>() {
        let worker = Worker::new(256);
        push::<O>(&worker);
        pop::<O>(&worker);
    }
    on_a_stack_of(256, body::<lifo::Lifo>);
    on_a_stack_of(256, body::<fifo::Fifo>);
}
