//! The unreceived value of a receiver that is dropped, also by a panic. Fault 20.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use brigade_burst::{Receiver, Sender, channel};

use crate::crew::Crew;
use crate::tally::{Counted, Tally};
use brigade_testkit::test;

/// Returns a channel whose one receiver has been handed a value.
fn handed_over(tally: &Tally) -> (Sender<Counted>, Receiver<Counted>) {
    let (sender, mut receiver) = channel();
    assert!(receiver.try_recv().is_err());
    sender.dispatch(tally.value(7)).unwrap();
    (sender, receiver)
}

#[test]
fn the_value_wakes_another_sleeping_receiver() {
    let tally = Tally::default();
    let (sender, receiver) = handed_over(&tally);
    let crew = Crew::waiting(&sender, 1);
    drop(receiver);
    assert_eq!(crew.next().1.0, 7);
    assert_eq!(sender.wake(), 0, "it has been woken already");
    assert!(sender.take_back().is_empty());
    drop(sender);
    crew.join();
    assert_eq!((tally.alive(), tally.dropped()), (0, 1));
}

#[test]
fn the_value_returns_without_another_receiver() {
    let tally = Tally::default();
    let (sender, receiver) = handed_over(&tally);
    let _busy = sender.new_receiver();
    drop(receiver);
    let back = sender.take_back();
    assert_eq!(back.iter().map(|value| value.0).collect::<Vec<_>>(), [7]);
    assert!(sender.take_back().is_empty(), "once");
    drop(back);
    assert_eq!((tally.alive(), tally.dropped()), (0, 1));
}

#[test]
fn a_panicking_receivers_value_is_not_lost() {
    let tally = Tally::default();
    let (sender, receiver) = handed_over(&tally);
    let unwound = catch_unwind(AssertUnwindSafe(move || {
        let _receiver = receiver;
        resume_unwind(Box::new("expected"));
    }));
    assert!(unwound.is_err());
    assert_eq!(sender.take_back().len(), 1);
    assert_eq!((tally.alive(), tally.dropped()), (0, 1));
}

#[test]
fn a_value_left_to_the_channel_is_received_before_the_end() {
    let tally = Tally::default();
    let (sender, receiver) = handed_over(&tally);
    let mut other = sender.new_receiver();
    drop(receiver);
    drop(sender);
    assert_eq!(other.recv().unwrap().0, 7);
    assert!(other.recv().is_err());
    assert_eq!((tally.alive(), tally.dropped()), (0, 1));
}

#[test]
fn a_values_drop_may_use_the_dropped_channel() {
    struct Meddler(Option<Receiver<Meddler>>);
    impl Drop for Meddler {
        fn drop(&mut self) {
            if let Some(receiver) = &mut self.0 {
                assert!(receiver.try_recv().is_err(), "the sender is gone");
            }
        }
    }
    let (sender, mut receiver) = channel();
    let inside = sender.new_receiver();
    assert!(receiver.try_recv().is_err());
    assert!(sender.dispatch(Meddler(Some(inside))).is_ok());
    drop(receiver);
    let back = sender.take_back();
    drop(sender);
    drop(back);
}

#[test]
fn a_forgotten_receiver_leaks_only_its_seat() {
    let (sender, mut receiver) = channel();
    assert!(receiver.try_recv().is_err());
    // Dropped at the end, so that the sanitizer finds no leak.
    let forgotten = ManuallyDrop::new(receiver);
    assert!(sender.dispatch(1).is_ok(), "it still counts as waiting");
    let mut other = sender.new_receiver();
    assert!(other.try_recv().is_err());
    assert!(sender.dispatch(2).is_ok());
    sender.wake();
    assert_eq!(other.recv(), Ok(2));
    drop(ManuallyDrop::into_inner(forgotten));
    assert_eq!(sender.take_back(), [1]);
}
