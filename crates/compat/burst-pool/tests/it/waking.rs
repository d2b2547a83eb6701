//! When a value is received.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use brigade_testkit::test;
use burst_pool::Sender;

use crate::crew::{Crew, enqueue};

#[test]
fn a_value_is_received_only_after_wake_all() {
    let mut sender = Sender::new();
    let crew = Crew::start(&mut sender, 2);
    for round in 0..200 {
        enqueue(&mut sender, round);
        enqueue(&mut sender, round);
        thread::yield_now();
        assert!(crew.is_silent(), "round {round}");
        sender.wake_all();
        assert_eq!(crew.take(2), [round; 2]);
    }
    drop(sender);
    assert!(crew.join().is_empty());
}

/// As above, seen by the receivers: some are awake when their value is enqueued.
#[test]
fn writes_before_wake_all_are_seen() {
    const RECEIVERS: usize = 3;
    let mut sender = Sender::new();
    let (woken, unseen) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..RECEIVERS {
            let (mut receiver, woken, unseen) = (sender.mk_receiver(), &woken, &unseen);
            scope.spawn(move || {
                while let Ok(round) = receiver.recv() {
                    if woken.load(Ordering::Relaxed) != *round {
                        unseen.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for round in 1..2_000 {
            (0..RECEIVERS).for_each(|_| enqueue(&mut sender, round));
            woken.store(round, Ordering::Relaxed);
            sender.wake_all();
        }
        drop(sender);
    });
    assert_eq!(unseen.into_inner(), 0);
}

#[test]
fn wake_all_without_values_does_nothing() {
    let mut sender = Sender::new();
    sender.wake_all();
    let crew = Crew::start(&mut sender, 2);
    (0..100).for_each(|_| sender.wake_all());
    enqueue(&mut sender, 7);
    sender.wake_all();
    assert_eq!(crew.next().1, 7);
    drop(sender);
    assert!(crew.join().is_empty());
}
