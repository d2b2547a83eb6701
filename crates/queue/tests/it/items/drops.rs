//! The drop of an item may use the queue that the item was in, or drop its last handle.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::ledger::{Item, Ledger};
use brigade_queue::{Injector, Order, Stealer, Worker, fifo, lifo};

/// An item whose drop pushes two new ones to its ring, if that still exists.
struct Pushing<O: Order> {
    _item: Item,
    ring: Weak<Worker<Pushing<O>, O>>,
    ledger: Rc<Ledger>,
}

impl<O: Order> Pushing<O> {
    fn new(ring: &Weak<Worker<Self, O>>, ledger: &Rc<Ledger>) -> Self {
        Self { _item: ledger.item(), ring: ring.clone(), ledger: ledger.clone() }
    }
}

impl<O: Order> Drop for Pushing<O> {
    fn drop(&mut self) {
        let Some(ring) = self.ring.upgrade() else { return };
        for _ in 0..2 {
            // The ring is full: the new item is dropped here, without pushing more.
            if let Err(mut rejected) = ring.push(Self::new(&Weak::new(), &self.ledger)) {
                rejected.ring = Weak::new();
            }
        }
    }
}

#[test]
fn the_drop_of_an_item_may_push_to_its_ring() {
    fn body<O: Order>() {
        let ledger = Rc::new(Ledger::open());
        let ring = Rc::new(Worker::<Pushing<O>, O>::new(8));
        let weak = Rc::downgrade(&ring);
        for _ in 0..6 {
            assert!(ring.push(Pushing::new(&weak, &ledger)).is_ok());
        }
        drop(ring.pop());
        assert_eq!(ring.len(), 7, "one came out and two went in");
        let mut drain = ring.drain(|_| 4).unwrap();
        drop(drain.next());
        assert_eq!((ring.len(), ring.spare_capacity()), (4, 0), "one more, and then it was full");
        drop(drain);
        assert_eq!(ring.len(), 6, "the last item released the claim, and its two fit");
        assert!(ring.stealer_ref().steal_one().is_ok(), "nothing is left claimed");
        drop(ring);
        Rc::into_inner(ledger).unwrap().close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

/// An item whose drop drops a handle of its ring, which all items share.
struct Ending<O: Order> {
    _item: Item,
    handle: Rc<RefCell<Option<Handle<O>>>>,
}

type Handle<O> = Stealer<Ending<O>, O>;

impl<O: Order> Drop for Ending<O> {
    fn drop(&mut self) {
        drop(self.handle.take());
    }
}

type Shared<O> = Rc<RefCell<Option<Handle<O>>>>;

/// Returns a ring of six items, each of which drops the stealer that they share.
fn six_that_share_a_handle<O: Order>() -> (Ledger, Worker<Ending<O>, O>, Shared<O>) {
    let (ledger, handle) = (Ledger::open(), Shared::<O>::default());
    let worker = Worker::<Ending<O>, O>::new(8);
    for item in ledger.items(6) {
        assert!(worker.push(Ending { _item: item, handle: handle.clone() }).is_ok());
    }
    *handle.borrow_mut() = Some(worker.stealer());
    (ledger, worker, handle)
}

#[test]
fn an_items_drop_may_drop_its_rings_last_handle() {
    fn body<O: Order>() {
        let (ledger, worker, handle) = six_that_share_a_handle::<O>();
        let taken = worker.pop();
        drop(worker);
        assert_eq!(ledger.alive().len(), 6, "the stealer keeps the ring");
        drop(taken);
        assert!(handle.borrow().is_none());
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn a_drained_items_drop_may_drop_its_rings_stealer() {
    fn body<O: Order>() {
        let (ledger, worker, _handle) = six_that_share_a_handle::<O>();
        drop(worker.drain(|_| 3));
        assert_eq!((ledger.alive().len(), worker.len()), (3, 3));
        drop(worker);
        ledger.close([]);
    }
    body::<lifo::Lifo>();
    body::<fifo::Fifo>();
}

#[test]
fn an_items_drop_may_push_to_its_injector() {
    struct Again(Weak<Injector<Again>>, u32, #[allow(dead_code, reason = "is dropped")] Item);
    impl Drop for Again {
        fn drop(&mut self) {
            let (Some(injector), 1..) = (self.0.upgrade(), self.1) else { return };
            let item = Ledger::item_of_this_thread();
            assert!(injector.push(Self(self.0.clone(), self.1 - 1, item)).is_ok());
        }
    }
    let ledger = Ledger::open();
    let injector = Rc::new(Injector::new());
    for item in ledger.items(600) {
        assert!(injector.push(Again(Rc::downgrade(&injector), 2, item)).is_ok());
    }
    let worker = fifo::Worker::new(4);
    drop(injector.pop_batch_into(&worker, 4));
    assert_eq!((worker.len(), injector.len()), (3, 597));
    let popped = std::iter::from_fn(|| injector.pop()).count();
    assert_eq!(
        popped,
        596 * 3 + 2,
        "each comes back twice, the one that was popped before once more"
    );
    drop((worker, injector));
    ledger.close([]);
}
