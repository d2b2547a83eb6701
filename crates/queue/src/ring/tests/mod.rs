//! Rings on one thread, with positions narrow enough to wrap; the races are in `tests/`.

mod against_a_deque;
mod owners_view;
mod stopped_thief;

use std::collections::VecDeque;

use super::order::sealed::Rules;
use super::*;

/// An order, and the same on a deque.
trait Modelled: Order {
    /// Pops as the owner of a ring does.
    fn pop_model(self, model: &mut VecDeque<u32>) -> Option<u32>;
}

impl<const BITS: u32> Modelled for Lifo<BITS> {
    fn pop_model(self, model: &mut VecDeque<u32>) -> Option<u32> {
        model.pop_back()
    }
}

impl<const BITS: u32> Modelled for Fifo<BITS> {
    fn pop_model(self, model: &mut VecDeque<u32>) -> Option<u32> {
        model.pop_front()
    }
}

impl Modelled for Either {
    fn pop_model(self, model: &mut VecDeque<u32>) -> Option<u32> {
        match self {
            Self::Lifo => model.pop_back(),
            Self::Fifo => model.pop_front(),
        }
    }
}

/// Returns a position three steps before the last of this width.
fn near_the_wrap<O: Order>() -> u32 {
    <O as Rules>::plus(0, u32::MAX - 3)
}

/// Returns a ring of at least this capacity whose positions soon wrap.
fn ring<O: Order>(capacity: usize) -> Worker<u32, O> {
    ring_in(O::default(), capacity)
}

/// Returns such a ring in an order chosen at run time.
fn ring_in<O: Order>(order: O, capacity: usize) -> Worker<u32, O> {
    Worker::starting_at(capacity, near_the_wrap::<O>(), order).unwrap()
}

/// Checks that a ring accepts as many items as it has slots, rejects the next one, and accepts one more for each that left.
fn fills_exactly<O: Modelled>(capacities: &[usize]) {
    for &capacity in capacities {
        let worker = ring::<O>(capacity);
        let mut model: VecDeque<_> = (0..capacity as u32).collect();
        for &item in &model {
            assert_eq!(worker.push(item), Ok(()), "item {item} of {capacity}");
        }
        assert_eq!(worker.push(1_000), Err(1_000), "capacity {capacity}");
        assert_eq!(worker.push_counted(1_000), Err(1_000), "capacity {capacity}");
        assert_eq!((worker.len(), worker.spare_capacity()), (capacity, 0));

        assert_eq!(worker.stealer_ref().steal_one().ok(), model.pop_front());
        assert_eq!(worker.push(1_001), Ok(()), "a slot that a thief left is free");
        model.push_back(1_001);
        assert_eq!(worker.push(1_002), Err(1_002));
        assert_eq!(worker.pop(), worker.order().pop_model(&mut model));
        assert_eq!(worker.push(1_003), Ok(()), "a slot that the owner left is free");
        model.push_back(1_003);
        assert_eq!(worker.push(1_004), Err(1_004));
        while let Some(item) = worker.order().pop_model(&mut model) {
            assert_eq!(worker.pop(), Some(item), "capacity {capacity}");
        }
        assert_eq!(worker.pop(), None);
    }
}

#[test]
fn a_narrow_ring_fills_to_its_capacity() {
    // 8 bits can tell at most 128 slots apart.
    fills_exactly::<Lifo<8>>(&[1, 2, 4, 128]);
    fills_exactly::<Fifo<8>>(&[1, 2, 4, 128]);
}

#[test]
fn a_ring_fills_to_exactly_its_capacity() {
    fills_exactly::<Lifo<16>>(&[1, 2, 4, 256, 1 << 15]);
    fills_exactly::<Fifo<16>>(&[1, 2, 4, 256, 1 << 15]);
    fills_exactly::<Lifo>(&[1, 2, 4, 256]);
    fills_exactly::<Fifo>(&[1, 2, 4, 256]);
}

/// Checks that a ring of more slots than the positions can tell apart is an error.
fn refuses_too_many_slots<O: Order>(most: usize) {
    assert!(Worker::<u32, O>::starting_at(most, 0, O::default()).is_ok());
    assert_eq!(
        Worker::<u32, O>::starting_at(most + 1, 0, O::default()).err(),
        Some(NewError::Capacity { asked: most + 1, most })
    );
}

#[test]
fn a_ring_has_half_as_many_slots_as_positions() {
    refuses_too_many_slots::<Lifo<8>>(128);
    refuses_too_many_slots::<Fifo<8>>(128);
    refuses_too_many_slots::<Lifo<16>>(1 << 15);
    refuses_too_many_slots::<Fifo<16>>(1 << 15);
}

#[test]
fn a_dropped_ring_drops_across_the_wrap() {
    fn body<O: Order>() {
        let count = std::rc::Rc::new(());
        let worker = Worker::<_, O>::starting_at(8, near_the_wrap::<O>(), O::default()).unwrap();
        worker.extend((0..8).map(|_| count.clone()));
        drop((worker.pop(), worker.stealer_ref().steal_one()));
        assert_eq!(std::rc::Rc::strong_count(&count), 7);
        drop(worker);
        assert_eq!(std::rc::Rc::strong_count(&count), 1);
    }
    body::<Lifo<8>>();
    body::<Fifo<8>>();
    body::<Lifo>();
    body::<Fifo>();
}
