//! Values and receivers when the sender is dropped.

use std::time::Duration;

use brigade_burst::{Disconnected, RecvTimeoutError, TryRecvError, channel};

use crate::crew::Crew;
use crate::tally::Tally;
use brigade_testkit::test;

/// Fault 20.
#[test]
fn a_sender_dropped_without_a_wake_delivers() {
    let (sender, first) = channel();
    let crew = Crew::waiting(&sender, 3);
    assert_eq!(sender.dispatch_all(0..3).count(), 0);
    drop((sender, first));
    let mut received = crew.join();
    received.sort_unstable();
    assert_eq!(received, [0, 1, 2]);
}

#[test]
fn every_later_call_returns_disconnected() {
    let (sender, mut receiver) = channel::<u32>();
    drop(sender);
    for _ in 0..3 {
        assert_eq!(receiver.recv(), Err(Disconnected));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        let long = receiver.recv_timeout(Duration::MAX);
        assert_eq!(long, Err(RecvTimeoutError::Disconnected));
        assert_eq!(receiver.iter().next(), None);
    }
}

#[test]
fn every_groups_receivers_are_disconnected() {
    let (sender, first) = channel::<u32>();
    let crew = Crew::waiting(&sender, 70);
    drop((sender, first));
    assert!(crew.join().is_empty());
}

#[test]
fn a_receiver_returns_its_value_before_the_end() {
    let (sender, mut receiver) = channel();
    assert!(receiver.try_recv().is_err());
    sender.dispatch(1).unwrap();
    drop(sender);
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.recv(), Err(Disconnected));
}

#[test]
fn unreceived_values_drop_once_with_the_channel() {
    let tally = Tally::default();
    let (sender, mut first) = channel();
    let mut second = sender.new_receiver();
    assert!(first.try_recv().is_err() && second.try_recv().is_err());
    assert_eq!(sender.burst([tally.value(1), tally.value(2)]).count(), 0);
    drop(sender);
    assert_eq!(tally.alive(), 2);
    drop(first);
    drop(second);
    assert_eq!((tally.alive(), tally.dropped()), (0, 2));
}
