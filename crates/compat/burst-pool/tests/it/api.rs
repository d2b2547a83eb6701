//! Every item, with the types that the documentation of burst-pool 0.5.1 gives it.

use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use burst_pool::{Receiver, RecvError, Sender};

fn is_end<E: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin>() {}

/// Those that are there for values without any trait.
fn of_any<T>() {
    let _: fn() -> Sender<T> = Sender::new;
    let _: fn(&mut Sender<T>) -> Receiver<T> = Sender::mk_receiver;
    let _: fn(&mut Sender<T>) = Sender::wake_all;
    let _: fn(&mut Receiver<T>) -> Result<Box<T>, RecvError> = Receiver::recv;
}

/// Those that hand values over.
fn of_sent<T: Send>() {
    let _: fn(&mut Sender<T>, Box<T>) -> Option<Box<T>> = Sender::enqueue;
}

#[test]
fn every_documented_item_has_its_type() {
    of_any::<Rc<Cell<u32>>>();
    of_sent::<Cell<u32>>();
    is_end::<Sender<Cell<u32>>>();
    is_end::<Receiver<Cell<u32>>>();
}

#[test]
fn the_error_is_the_same_as_in_burst_pool() {
    fn is_error<E: Debug + PartialEq + Send + Sync + UnwindSafe + 'static>() {}
    is_error::<RecvError>();
    // No second one, and no wildcard.
    let name = |error| match error {
        RecvError::Orphaned => "orphaned",
    };
    assert_eq!(name(RecvError::Orphaned), "orphaned");
    assert_eq!(format!("{:?}", RecvError::Orphaned), "Orphaned");
}

#[test]
fn thread_bound_values_need_no_trait() {
    let mut sender = Sender::<Rc<u32>>::new();
    let mut receiver = sender.mk_receiver();
    sender.wake_all();
    drop(sender);
    assert_eq!(receiver.recv(), Err(RecvError::Orphaned));
}
