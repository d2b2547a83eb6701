//! Which receiver gets a value, and which values are returned.

use std::sync::mpsc;
use std::thread;

use brigade_testkit::{eventually, test};
use burst_pool::Sender;

use crate::crew::{Crew, enqueue};

#[test]
fn values_return_while_no_receiver_is_ready() {
    let mut sender = Sender::new();
    assert_eq!(sender.enqueue(Box::new(1)), Some(Box::new(1)), "there is none");
    let mut receiver = sender.mk_receiver();
    assert_eq!(sender.enqueue(Box::new(2)), Some(Box::new(2)), "it does not wait");
    let (received, receives) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let worker = thread::spawn(move || {
        received.send(receiver.recv()).unwrap();
        gone.recv().unwrap_err();
        receiver.recv()
    });
    enqueue(&mut sender, 3);
    assert_eq!(sender.enqueue(Box::new(4)), Some(Box::new(4)), "it has a value");
    sender.wake_all();
    assert_eq!(receives.recv(), Ok(Ok(Box::new(3))));
    assert_eq!(sender.enqueue(Box::new(5)), Some(Box::new(5)), "it is busy");
    sender.wake_all();
    drop(go);
    enqueue(&mut sender, 6);
    sender.wake_all();
    assert_eq!(worker.join().unwrap(), Ok(Box::new(6)));
}

#[test]
fn the_returned_value_is_the_same_box() {
    let mut sender = Sender::new();
    let value = Box::new(7);
    let address = std::ptr::from_ref::<u32>(&value);
    let back = sender.enqueue(value).expect("there is no receiver");
    assert_eq!(std::ptr::from_ref::<u32>(&back), address);
}

#[test]
fn receivers_take_turns() {
    const RECEIVERS: usize = 5;
    let mut sender = Sender::new();
    let crew = Crew::start(&mut sender, RECEIVERS);
    for round in 0..100 {
        eventually("all are ready", || format!("{sender:?}").contains("ready: 5"));
        assert!(sender.enqueue(Box::new(round)).is_none());
        sender.wake_all();
        assert_eq!(crew.next(), (round % RECEIVERS, round));
    }
    drop(sender);
    assert!(crew.join().is_empty());
}

#[test]
fn each_value_has_one_receiver() {
    const VALUES: usize = 5_000;
    let mut sender = Sender::new();
    let crew = Crew::start(&mut sender, 4);
    let mut work: Vec<_> = (0..VALUES).map(Box::new).collect();
    while !work.is_empty() {
        work = work.into_iter().filter_map(|value| sender.enqueue(value)).collect();
        sender.wake_all();
        thread::yield_now();
    }
    drop(sender);
    let mut received = crew.join();
    received.sort_unstable();
    assert!(received.into_iter().eq(0..VALUES));
}

#[test]
fn one_burst_reaches_a_hundred_receivers() {
    let mut sender = Sender::new();
    let crew = Crew::start(&mut sender, 100);
    for _ in 0..5 {
        (0..100).for_each(|value| enqueue(&mut sender, value));
        sender.wake_all();
        let mut received = crew.take(100);
        received.sort_unstable();
        assert!(received.into_iter().eq(0..100));
    }
    drop(sender);
    assert!(crew.join().is_empty());
}
