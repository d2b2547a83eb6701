//! Which values are handed over, and which are returned.

use brigade_burst::{Busy, Delivery, Sender, TryRecvError, Turns, channel};

use crate::crew::Crew;
use brigade_testkit::test;

#[test]
fn a_burst_serves_waiting_receivers_and_returns_the_rest() {
    // None of them waits again before the end of the burst.
    let sender = Sender::with(Turns::AwakeFirst, Delivery::OnWake);
    let crew = Crew::waiting(&sender, 5);
    let leftover: Vec<_> = sender.burst(0..8).collect();
    assert_eq!(leftover, [5, 6, 7]);
    let mut received = crew.take(5);
    received.sort_unstable();
    assert_eq!(received, [0, 1, 2, 3, 4]);
    drop(sender);
    assert!(crew.join().is_empty());
}

/// Fault 21.
#[test]
fn busy_receivers_have_nothing_handed_over() {
    let (sender, mut receiver) = channel();
    assert_eq!(sender.dispatch(1), Err(Busy(1)), "it does not wait");
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(sender.dispatch(2), Ok(()));
    assert_eq!(sender.dispatch(3), Err(Busy(3)), "it has a value");
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(sender.dispatch(4), Err(Busy(4)), "it is busy");
    assert_eq!(sender.waiting(), 0);
}

/// Fault 22.
#[test]
fn a_channel_without_receivers_returns_values() {
    let sender = Sender::new();
    assert_eq!(sender.dispatch(1), Err(Busy(1)));
    assert!(sender.burst([1, 2, 3]).eq([1, 2, 3]));
    assert_eq!((sender.waiting(), sender.wake()), (0, 0));
    assert!(sender.take_back().is_empty());
    let crew = Crew::waiting(&sender, 2);
    assert_eq!(sender.burst([1, 2]).count(), 0);
    let mut received = crew.take(2);
    received.sort_unstable();
    assert_eq!(received, [1, 2]);
    drop(sender);
    assert!(crew.join().is_empty());
    drop(Sender::<u32>::default());
}

/// Fault 22.
#[test]
fn without_receivers_values_come_back() {
    let (sender, receiver) = channel();
    drop(receiver);
    assert_eq!(sender.dispatch(1), Err(Busy(1)));
    assert!(sender.burst([1, 2, 3]).eq([1, 2, 3]));
    assert_eq!(sender.wake(), 0);
}

#[test]
fn a_polling_receiver_needs_no_wake() {
    let (sender, mut receiver) = channel();
    assert!(receiver.try_recv().is_err());
    sender.dispatch(1).unwrap();
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(sender.wake(), 0);
}

#[test]
fn a_withdrawing_receiver_gets_no_later_value() {
    let (sender, mut receiver) = channel();
    assert_eq!(receiver.withdraw(), None, "it did not wait");
    assert!(receiver.try_recv().is_err());
    sender.dispatch(1).unwrap();
    assert_eq!(receiver.withdraw(), Some(1));
    assert_eq!(sender.dispatch(2), Err(Busy(2)));
    assert!(receiver.try_recv().is_err());
    assert_eq!(receiver.withdraw(), None);
    assert_eq!(sender.dispatch(3), Err(Busy(3)));
}

#[test]
fn large_and_zero_sized_values_pass() {
    let (sender, mut receiver) = channel();
    assert!(receiver.try_recv().is_err());
    sender.dispatch([7_u64; 512]).unwrap();
    assert_eq!(receiver.recv().unwrap(), [7; 512]);
    let (sender, mut receiver) = channel();
    assert!(receiver.try_recv().is_err());
    sender.dispatch(()).unwrap();
    assert_eq!(receiver.recv(), Ok(()));
}

#[test]
fn a_shared_sender_gives_each_value_to_one() {
    const EACH: usize = 5_000;
    let (sender, _idle) = channel();
    let crew = Crew::waiting(&sender, 4);
    std::thread::scope(|scope| {
        for producer in 0..3 {
            let sender = &sender;
            scope.spawn(move || {
                let mut work: Vec<_> = (producer * EACH..(producer + 1) * EACH).collect();
                while !work.is_empty() {
                    work = sender.burst(work).collect();
                    std::thread::yield_now();
                }
            });
        }
    });
    drop(sender);
    let mut received = crew.join();
    received.sort_unstable();
    assert!(received.into_iter().eq(0..3 * EACH));
}
