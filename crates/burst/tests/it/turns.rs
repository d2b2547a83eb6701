//! Which of several waiting receivers is served.

use brigade_burst::{Busy, Delivery, Receiver, Sender, Turns};

use crate::crew::Crew;
use brigade_testkit::test;

/// Returns receivers of which all wait.
fn waiting(sender: &Sender<usize>, count: usize) -> Vec<Receiver<usize>> {
    let receivers = (0..count).map(|_| sender.new_receiver());
    let wait = |mut receiver: Receiver<_>| {
        assert!(receiver.try_recv().is_err());
        receiver
    };
    receivers.map(wait).collect()
}

/// Returns the number of the receiver that has a value; it waits again.
fn served(receivers: &mut [Receiver<usize>]) -> usize {
    let served: Vec<_> =
        (0..receivers.len()).filter(|number| receivers[*number].try_recv().is_ok()).collect();
    assert_eq!(served.len(), 1);
    assert!(receivers[served[0]].try_recv().is_err());
    served[0]
}

fn in_turns() -> Sender<usize> {
    Sender::with(Turns::RoundRobin, Delivery::AtOnce)
}

#[test]
fn each_receiver_is_served_once_a_round() {
    let sender = in_turns();
    let mut receivers = waiting(&sender, 5);
    for value in 0..17 {
        sender.dispatch(value).unwrap();
        assert_eq!(served(&mut receivers), value % 5);
    }
}

/// The order of burst-pool: the next idle one after the one that was served last.
#[test]
fn busy_receivers_miss_their_turn() {
    let sender = in_turns();
    let mut receivers = waiting(&sender, 5);
    let mut busy = [receivers.remove(1), receivers.remove(1)];
    assert!(busy.iter_mut().all(|receiver| receiver.withdraw().is_none()));
    let mut order = Vec::new();
    for value in 0..5 {
        sender.dispatch(value).unwrap();
        order.push(served(&mut receivers));
    }
    assert_eq!(order, [0, 1, 2, 0, 1], "those with the seats 0, 3, 4, 0, 3");
    assert!(busy[0].try_recv().is_err(), "it waits again");
    sender.dispatch(5).unwrap();
    assert_eq!(served(&mut receivers), 2, "no receiver is served before its turn");
    assert_eq!(sender.dispatch_all([6, 7]).count(), 0);
    assert_eq!((receivers[0].try_recv(), busy[0].try_recv()), (Ok(6), Ok(7)));
}

#[test]
fn the_turns_go_over_all_groups() {
    let sender = in_turns();
    let mut receivers = waiting(&sender, 70);
    for value in 0..200 {
        sender.dispatch(value).unwrap();
        assert_eq!(served(&mut receivers), value % 70);
    }
    assert!(sender.burst(0..71).eq([70]), "each of them once");
    // The turn was at 200 % 70 = 60.
    let values = receivers.iter_mut().map(|receiver| receiver.try_recv().unwrap());
    assert!(values.eq((10..70).chain(0..10)));
    assert_eq!(sender.dispatch(1), Err(Busy(1)));
}

#[test]
fn the_turns_survive_dropped_receivers() {
    let sender = in_turns();
    let mut receivers = waiting(&sender, 40);
    for value in 0..39 {
        sender.dispatch(value).unwrap();
        served(&mut receivers);
    }
    // The turn is at one that is gone, and at a group without receivers.
    receivers.truncate(3);
    for value in 0..4 {
        sender.dispatch(value).unwrap();
        assert_eq!(served(&mut receivers), value % 3);
    }
    receivers.clear();
    assert_eq!(sender.dispatch(1), Err(Busy(1)));
}

#[test]
fn without_turns_the_lowest_awake_seat_is_served() {
    let sender = Sender::new();
    let mut receivers = waiting(&sender, 3);
    for value in 0..5 {
        sender.dispatch(value).unwrap();
        assert_eq!(served(&mut receivers), 0);
    }
}

#[test]
fn a_shared_sender_with_turns_gives_each_value_to_one() {
    const EACH: usize = 5_000;
    let sender = in_turns();
    let crew = Crew::waiting(&sender, 40);
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
