//! What the documentation of st3 0.4 promises, for both orders.
#![forbid(unsafe_code)]

use std::panic;

use st3::StealError;

/// Each test for both orders, in a module of that name. `ends` are what the owner pops first and last of 1, 2, 3, 4.
macro_rules! for_both {
    ($($order:ident pops $popped:expr;)*) => {$(
        mod $order {
            use super::*;
            use st3::$order::{Stealer, Worker};

            /// A queue of capacity 4 with these items.
            fn queue(items: impl IntoIterator<Item = u32>) -> Worker<u32> {
                let worker = Worker::new(4);
                items.into_iter().for_each(|item| worker.push(item).unwrap());
                worker
            }

            /// Drains a queue: what it holds, the oldest first.
            fn all(worker: &Worker<u32>) -> Vec<u32> {
                worker.drain(|count| count).map(Iterator::collect).unwrap_or_default()
            }

            #[test]
            fn the_owner_pops_in_its_order() {
                let worker = queue(1..=4);
                let popped: Vec<_> = std::iter::from_fn(|| worker.pop()).collect();
                assert_eq!(popped, $popped);
                assert_eq!(worker.pop(), None);
            }

            #[test]
            fn a_capacity_is_the_next_power_of_two() {
                let capacity = |asked| Worker::<u8>::new(asked).capacity();
                assert_eq!([0, 1, 2, 3, 4, 5, 256, 257].map(capacity), [1, 1, 2, 4, 4, 8, 256, 512]);
            }

            #[test]
            fn a_capacity_over_two_to_the_31_panics() {
                let asked = (1_usize << 31) + 1;
                assert!(panic::catch_unwind(|| Worker::<u8>::new(asked)).is_err());
            }

            #[test]
            fn a_full_queue_returns_the_item() {
                let worker = queue(1..=4);
                assert_eq!(worker.push(5), Err(5));
                worker.pop();
                assert_eq!(worker.push(6), Ok(()));
            }

            #[test]
            fn the_spare_capacity_can_be_pushed() {
                let worker = queue([1]);
                assert_eq!((worker.spare_capacity(), worker.is_empty()), (3, false));
                (0..3).for_each(|item| worker.push(item).unwrap());
                assert_eq!(worker.spare_capacity(), 0);
                assert_eq!(all(&worker).len(), 4);
                assert_eq!((worker.spare_capacity(), worker.is_empty()), (4, true));
            }

            #[test]
            fn claimed_items_hold_slots_until_moved_out() {
                let worker = queue(1..=4);
                let mut drain = worker.drain(|_| 2).unwrap();
                assert_eq!(drain.next(), Some(1));
                assert_eq!((worker.spare_capacity(), worker.push(5)), (0, Err(5)));
                assert_eq!(drain.next(), Some(2));
                assert_eq!((worker.spare_capacity(), worker.push(5)), (2, Ok(())));
                assert_eq!(drain.next(), None);
            }

            #[test]
            fn an_extension_stops_at_the_capacity() {
                let worker = queue([1]);
                worker.extend(2..);
                assert_eq!(all(&worker), [1, 2, 3, 4]);
            }

            #[test]
            fn a_steal_appends_the_oldest_in_order() {
                let (from, to) = (queue(1..=4), queue([9]));
                assert_eq!(from.stealer().steal(&to, |count| count / 2), Ok(2));
                assert_eq!((all(&to), all(&from)), (vec![9, 1, 2], vec![3, 4]));
            }

            #[test]
            fn a_steal_is_limited_by_items_and_room() {
                let (from, to) = (queue(1..=4), queue([9]));
                assert_eq!(from.stealer_ref().steal(&to, |_| usize::MAX), Ok(3));
                let rest = queue([]);
                assert_eq!(from.stealer_ref().steal(&rest, |_| usize::MAX), Ok(1));
            }

            #[test]
            fn a_steal_and_pop_returns_the_newest_stolen() {
                let (from, to) = (queue(1..=4), queue([]));
                assert_eq!(from.stealer().steal_and_pop(&to, |_| 3), Ok((3, 2)));
                assert_eq!((all(&to), all(&from)), (vec![1, 2], vec![4]));
                let from = queue([5]);
                assert_eq!(from.stealer().steal_and_pop(&to, |_| 3), Ok((5, 0)), "it was the only one");
            }

            #[test]
            fn a_full_destination_fails_only_without_an_item() {
                let (from, to) = (queue(1..=4), queue(5..=8));
                assert_eq!(from.stealer().steal(&to, |count| count), Err(StealError::Empty));
                assert_eq!(from.stealer().steal_and_pop(&to, |count| count), Ok((1, 0)));
                assert_eq!((all(&from), all(&to)), (vec![2, 3, 4], vec![5, 6, 7, 8]));
            }

            #[test]
            fn no_items_and_no_request_are_empty() {
                let (empty, full) = (queue([]), queue(1..=4));
                let never = |_| -> usize { unreachable!("there is nothing to count") };
                assert_eq!(empty.drain(never).err(), Some(StealError::Empty));
                assert_eq!(empty.stealer().steal(&full, never), Err(StealError::Empty));
                assert_eq!(empty.stealer().steal_and_pop(&full, never), Err(StealError::Empty));
                assert_eq!(full.drain(|_| 0).err(), Some(StealError::Empty));
                assert_eq!(full.stealer().steal(&empty, |_| 0), Err(StealError::Empty));
                assert_eq!(full.stealer().steal_and_pop(&empty, |_| 0), Err(StealError::Empty));
                assert_eq!(all(&full), [1, 2, 3, 4]);
            }

            #[test]
            fn the_closure_gets_the_number_of_items() {
                let (from, to) = (queue(1..=3), queue([]));
                let mut seen = Vec::new();
                let mut watch = |count| {
                    seen.push(count);
                    1
                };
                assert_eq!(from.stealer().steal(&to, &mut watch), Ok(1));
                assert_eq!(from.stealer().steal_and_pop(&to, &mut watch), Ok((2, 0)));
                assert_eq!(from.drain(&mut watch).unwrap().next(), Some(3));
                assert_eq!(seen, [3, 2, 1]);
            }

            #[test]
            fn a_second_thief_gets_busy() {
                let (from, to) = (queue(1..=4), queue([]));
                let mut drain = from.drain(|_| 2).unwrap();
                assert_eq!((drain.len(), drain.size_hint()), (2, (2, Some(2))));
                assert_eq!(from.drain(|_| 1).err(), Some(StealError::Busy));
                assert_eq!(from.stealer().steal(&to, |_| 1), Err(StealError::Busy));
                assert_eq!(from.stealer().steal_and_pop(&to, |_| 1), Err(StealError::Busy));
                assert_eq!(drain.next(), Some(1));
                drop(drain);
                assert_eq!(from.stealer().steal(&to, |_| 4), Ok(2), "the drop takes the rest");
                assert_eq!(all(&to), [3, 4]);
            }

            #[test]
            fn a_drain_ends_with_its_last_item() {
                let worker = queue(1..=4);
                let mut drain = worker.drain(|_| 2).unwrap();
                assert_eq!((drain.next(), drain.next()), (Some(1), Some(2)));
                let second = worker.drain(|count| count).map(Iterator::collect::<Vec<_>>);
                assert_eq!(second, Ok(vec![3, 4]));
                assert_eq!((drain.next(), drain.next()), (None, None));
            }

            #[test]
            fn the_owner_pops_and_pushes_beside_a_drain() {
                let worker = queue(1..=4);
                let drain = worker.drain(|_| 2).unwrap();
                let mut popped = [worker.pop(), worker.pop(), worker.pop()];
                popped.sort();
                assert_eq!(popped, [None, Some(3), Some(4)]);
                assert!(drain.eq([1, 2]));
                assert!(worker.is_empty());
            }

            #[test]
            fn stealers_of_one_queue_are_equal() {
                let (one, other) = (queue([]), queue([]));
                let stealers: [Stealer<u32>; 2] = [one.stealer(), other.stealer()];
                assert_eq!(&stealers[0], one.stealer_ref());
                assert_eq!(stealers[0].clone(), stealers[0]);
                assert_ne!(&stealers[1], one.stealer_ref());
            }

            #[test]
            fn a_stealer_outlives_its_worker() {
                let (from, to) = (queue(1..=4), queue([]));
                let stealer = from.stealer();
                drop(from);
                assert_eq!(stealer.steal(&to, |count| count), Ok(4));
                assert_eq!(all(&to), [1, 2, 3, 4]);
            }
        }
    )*};
}

for_both! {
    lifo pops [4, 3, 2, 1];
    fifo pops [1, 2, 3, 4];
}
