//! Where safe code makes st3 0.4.1 free an item twice, or lose one.
//!
//! Each item counts its drop: exactly one, or none if it is leaked.
#![forbid(unsafe_code)]

use std::iter;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

/// Hands out items, and says how many of them still exist.
#[derive(Default)]
struct Ledger(Arc<()>);

impl Ledger {
    fn item(&self) -> Arc<()> {
        self.0.clone()
    }

    fn alive(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// Panics when it is dropped, if it is armed.
struct Item {
    _entry: Arc<()>,
    armed: bool,
}

impl Drop for Item {
    fn drop(&mut self) {
        assert!(!self.armed, "expected: dropped");
    }
}

macro_rules! for_both {
    ($($order:ident)*) => {$(
        mod $order {
            use super::*;
            use st3::$order::Worker;

            fn queue(ledger: &Ledger, count: usize) -> Worker<Arc<()>> {
                let worker = Worker::new(8);
                worker.extend(iter::repeat_with(|| ledger.item()).take(count));
                worker
            }

            /// S1.
            #[test]
            fn a_forgotten_drain_leaks_unyielded_items() {
                let ledger = Ledger::default();
                let worker = queue(&ledger, 5);
                let mut drain = worker.drain(|_| 3).unwrap();
                drop(drain.next());
                mem::forget(drain);
                assert_eq!(ledger.alive(), 4);
                drop(worker);
                assert_eq!(ledger.alive(), 2, "the rest of the claim");
            }

            /// S1, by a panic.
            #[test]
            fn an_item_panicking_in_a_drain_drops_once() {
                let ledger = Ledger::default();
                let worker = Worker::new(8);
                worker.extend((0..4).map(|number| Item { _entry: ledger.item(), armed: number == 1 }));
                let drain = worker.drain(|_| 3).unwrap();
                let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(drain)));
                assert!(dropped.is_err());
                assert_eq!(ledger.alive(), 1);
                drop(worker);
                assert_eq!(ledger.alive(), 0);
            }

            /// S2.
            #[test]
            fn a_closure_may_pop_the_destination() {
                let ledger = Ledger::default();
                let (from, to) = (queue(&ledger, 4), queue(&ledger, 2));
                let stolen = from.stealer().steal(&to, |count| {
                    drop(to.pop());
                    count
                });
                assert_eq!(stolen, Ok(4));
                assert_eq!(ledger.alive(), 5);
                assert_eq!(iter::from_fn(|| to.pop()).map(drop).count(), 5);
                assert_eq!(ledger.alive(), 0);
            }

            /// S2.
            #[test]
            fn a_closure_may_push_to_the_destination() {
                let ledger = Ledger::default();
                let (from, to) = (queue(&ledger, 4), queue(&ledger, 0));
                let stolen = from.stealer().steal_and_pop(&to, |count| {
                    to.push(ledger.item()).unwrap();
                    count
                });
                assert_eq!(stolen.unwrap().1, 3);
                assert_eq!(iter::from_fn(|| to.pop()).map(drop).count(), 4);
                assert_eq!(ledger.alive(), 0);
            }

            /// S3.
            #[test]
            fn an_iterator_may_pop_from_its_queue() {
                let ledger = Ledger::default();
                let worker = queue(&ledger, 3);
                worker.extend(iter::repeat_with(|| {
                    drop(worker.pop());
                    ledger.item()
                }).take(5));
                let queued = ledger.alive();
                assert_eq!(iter::from_fn(|| worker.pop()).map(drop).count(), queued);
                assert_eq!(ledger.alive(), 0);
            }

            /// S3.
            #[test]
            fn an_iterator_may_push_to_its_queue() {
                let ledger = Ledger::default();
                let worker = queue(&ledger, 0);
                worker.extend(iter::repeat_with(|| {
                    let _ = worker.push(ledger.item());
                    ledger.item()
                }).take(3));
                assert_eq!(ledger.alive(), 6);
                assert_eq!(iter::from_fn(|| worker.pop()).map(drop).count(), 6);
                assert_eq!(ledger.alive(), 0);
            }

            /// S4.
            #[test]
            fn a_panicking_closure_leaves_the_queue() {
                let ledger = Ledger::default();
                let (from, to) = (queue(&ledger, 4), queue(&ledger, 0));
                let stolen = panic::catch_unwind(|| {
                    from.stealer().steal(&to, |_| panic!("expected: from the closure"))
                });
                assert!(stolen.is_err());
                assert_eq!(from.stealer().steal(&to, |count| count), Ok(4));
            }

            #[test]
            fn the_last_handle_drops_the_queues_items() {
                let ledger = Ledger::default();
                let worker = queue(&ledger, 4);
                let stealer = worker.stealer();
                drop(worker);
                assert_eq!(ledger.alive(), 4);
                drop(stealer);
                assert_eq!(ledger.alive(), 0);
            }
        }
    )*};
}

for_both!(lifo fifo);
