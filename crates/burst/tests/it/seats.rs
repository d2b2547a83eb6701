//! Receivers are created and dropped, in any number. Fault 22.

use brigade_burst::{Delivery, Sender, Turns, channel};

use crate::crew::Crew;
use brigade_testkit::test;

/// Returns the seat of a receiver, by its `Debug` output.
fn seat(receiver: &impl std::fmt::Debug) -> String {
    format!("{receiver:?}")
}

#[test]
fn a_dropped_receivers_seat_is_reused() {
    let (sender, first) = channel::<u32>();
    let second = sender.new_receiver();
    let of_first = seat(&first);
    assert_ne!(seat(&second), of_first);
    drop(first);
    assert_eq!(seat(&sender.new_receiver()), of_first);
}

#[test]
fn a_reused_seat_has_nothing_of_its_past() {
    let (sender, mut receiver) = channel();
    for round in 0..100 {
        assert!(receiver.try_recv().is_err());
        sender.dispatch(round).unwrap();
        sender.wake();
        drop(receiver);
        assert_eq!(sender.take_back(), [round]);
        receiver = sender.new_receiver();
        assert_eq!((sender.waiting(), sender.wake()), (0, 0));
    }
}

#[test]
fn one_burst_reaches_a_hundred_receivers() {
    // None of them waits again before the end of the burst.
    let sender = Sender::with(Turns::AwakeFirst, Delivery::OnWake);
    let crew = Crew::waiting(&sender, 100);
    for round in 0..10 {
        brigade_testkit::eventually("all wait", || sender.waiting() == 100);
        assert_eq!(sender.burst(0..101).collect::<Vec<_>>(), [100], "round {round}");
        let mut received = crew.take(100);
        received.sort_unstable();
        assert!(received.into_iter().eq(0..100), "round {round}");
    }
    drop(sender);
    assert!(crew.join().is_empty());
}

#[test]
fn a_waiting_receiver_is_found_behind_busy_ones() {
    let (sender, first) = channel();
    let busy: Vec<_> = (0..200).map(|_| sender.new_receiver()).collect();
    let mut last = sender.new_receiver();
    assert!(last.try_recv().is_err());
    assert_eq!(sender.burst(0..2).collect::<Vec<_>>(), [1]);
    assert_eq!(last.try_recv(), Ok(0));
    drop((busy, first));
}

#[test]
fn a_burst_finds_a_receiver_waiting_behind_it() {
    let (sender, mut first) = channel();
    let busy: Vec<_> = (0..40).map(|_| sender.new_receiver()).collect();
    let mut last = sender.new_receiver();
    assert!(last.try_recv().is_err());
    // At the second value the search is past the first receiver, which begins to wait only now.
    let values = (0..2).inspect(|n| {
        if *n == 1 {
            assert!(first.try_recv().is_err());
        }
    });
    assert_eq!(sender.burst(values).count(), 0);
    assert_eq!((last.try_recv(), first.try_recv()), (Ok(0), Ok(1)));
    drop(busy);
}

#[test]
fn a_long_chain_of_groups_ends_on_a_short_stack() {
    let small = std::thread::Builder::new().stack_size(64 << 10);
    let thread = small.spawn(|| {
        let (sender, first) = channel::<u8>();
        let receivers: Vec<_> = (0..32 * 400).map(|_| sender.new_receiver()).collect();
        drop((sender, first));
        drop(receivers);
    });
    thread.unwrap().join().unwrap();
}
