//! One thread's view of the rings, against a `VecDeque`; the races are in `tests/`.

use std::collections::VecDeque;
use std::vec::Vec;

use super::*;

/// Every sequence of `length` operations on rings of capacity 1, 2 and 4 does what a deque does.
fn matches_a_deque<O: Order>(length: u32, pop: fn(&mut VecDeque<u32>) -> Option<u32>) {
    for capacity in [1, 2, 4] {
        for sequence in 0..4_u32.pow(length) {
            let (worker, other) =
                (Worker::<u32, O>::new(capacity), Worker::<u32, O>::new(capacity));
            let (stealer, mut model, mut stolen) =
                (worker.stealer(), VecDeque::new(), VecDeque::new());
            for step in 0..length {
                match sequence / 4_u32.pow(step) % 4 {
                    0 if model.len() < capacity => {
                        assert_eq!(worker.push(step), Ok(()));
                        model.push_back(step);
                    }
                    0 => assert_eq!(worker.push(step), Err(step)),
                    1 => assert_eq!(worker.pop(), pop(&mut model)),
                    2 => assert_eq!(stealer.steal_one().ok(), model.pop_front()),
                    _ => {
                        let count =
                            (model.len() - model.len() / 2).min(capacity - stolen.len() + 1);
                        let mut taken: VecDeque<_> = model.drain(..count).collect();
                        assert_eq!(
                            stealer
                                .steal_batch_and_pop(&other, Limit::Half, 0)
                                .ok()
                                .map(|(item, _)| item),
                            taken.pop_front()
                        );
                        stolen.append(&mut taken);
                    }
                }
                assert_eq!((worker.len(), other.len()), (model.len(), stolen.len()));
            }
            let left: Vec<_> = core::iter::from_fn(|| stealer.steal_one().ok()).collect();
            assert_eq!(left, Vec::from(model));
        }
    }
}

#[test]
fn a_lifo_ring_does_what_a_deque_does() {
    matches_a_deque::<Lifo>(6, VecDeque::pop_back);
}

#[test]
fn a_fifo_ring_does_what_a_deque_does() {
    matches_a_deque::<Fifo>(6, VecDeque::pop_front);
}

#[test]
fn a_dropped_ring_drops_the_rest_even_if_one_drop_panics() {
    use std::rc::Rc;
    struct Item {
        _count: Rc<()>,
        panics: bool,
    }
    impl Drop for Item {
        fn drop(&mut self) {
            assert!(!self.panics, "as told");
        }
    }
    let count = Rc::new(());
    let worker = Worker::<_, Fifo>::new(4);
    for panics in [false, true, false, false] {
        worker.push(Item { _count: count.clone(), panics }).ok().unwrap();
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(worker)));
    assert!(result.is_err());
    assert_eq!(Rc::strong_count(&count), 1);
}
