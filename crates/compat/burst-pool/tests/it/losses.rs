//! Where burst-pool 0.5.1 loses values, panics or leaks, and this package does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use brigade_testkit::{eventually, test};
use burst_pool::{RecvError, Sender};

use crate::crew::{Crew, enqueue};

/// In burst-pool the drop overwrites the state of every receiver: the value is lost, and its box leaked.
#[test]
fn a_dropped_senders_values_are_received() {
    let value = Arc::new(());
    for is_woken in [true, false].repeat(50) {
        let mut sender = Sender::new();
        let crew = Crew::start(&mut sender, 3);
        (0..3).for_each(|_| enqueue(&mut sender, value.clone()));
        if is_woken {
            sender.wake_all();
        }
        drop(sender);
        assert_eq!(crew.join().len(), 3, "woken: {is_woken}");
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

/// In burst-pool, a receiver that is awake because of A may take the token of B, or the other way round: then A's waits.
#[test]
fn a_value_waits_for_its_own_wake() {
    let mut sender = Sender::new();
    let crew = Crew::start(&mut sender, 2);
    for round in 0..2_000 {
        enqueue(&mut sender, 2 * round);
        sender.wake_all();
        enqueue(&mut sender, 2 * round + 1);
        assert_eq!(crew.next().1, 2 * round, "it does not wait for the wake of the other");
        assert!(crew.is_silent(), "round {round}");
        sender.wake_all();
        assert_eq!(crew.next().1, 2 * round + 1);
    }
    drop(sender);
    assert!(crew.join().is_empty());
}

/// In burst-pool a receiver that is awake because of another's value may see its state before its value is stored, and panics.
#[test]
fn awake_receivers_survive_values_for_others() {
    const VALUES: usize = 30_000;
    let mut sender = Sender::new();
    let received = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            let (mut receiver, received) = (sender.mk_receiver(), &received);
            scope.spawn(move || {
                while receiver.recv().is_ok() {
                    received.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // No pauses, so that some are on their way to sleep and others just awake.
        for number in 0..VALUES {
            let mut value = Some(Box::new(number));
            while let Some(back) = value.take() {
                value = sender.enqueue(back);
            }
            sender.wake_all();
        }
        eventually("all are received", || received.load(Ordering::Relaxed) == VALUES);
        drop(sender);
    });
    assert_eq!(received.into_inner(), VALUES, "each once");
}

/// In burst-pool each channel leaks one.
#[test]
#[cfg(target_os = "linux")]
fn no_file_descriptor_is_used() {
    let eventfds = || {
        let files = std::fs::read_dir("/proc/self/fd").unwrap();
        let names = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        names.filter(|name| name.to_string_lossy().contains("eventfd")).count()
    };
    let mut senders: Vec<_> = (0..100).map(|_| Sender::<u32>::new()).collect();
    senders.iter_mut().for_each(|sender| drop(sender.mk_receiver()));
    assert_eq!(eventfds(), 0);
}

/// In burst-pool the list of receivers only grows, and each of them is looked at for each value.
#[test]
fn receivers_come_and_go() {
    let mut sender = Sender::new();
    (0..10_000).for_each(|_| drop(sender.mk_receiver()));
    for round in 0..50 {
        let mut receiver = sender.mk_receiver();
        let worker = thread::spawn(move || receiver.recv());
        enqueue(&mut sender, round);
        sender.wake_all();
        assert_eq!(worker.join().unwrap(), Ok(Box::new(round)));
        assert!(sender.enqueue(Box::new(round)).is_some(), "it is gone");
    }
    let mut last = sender.mk_receiver();
    drop(sender);
    for _ in 0..2 {
        assert_eq!(last.recv(), Err(RecvError::Orphaned));
    }
}

#[test]
fn only_the_owner_drops_a_value_without_receiver() {
    let value = Arc::new(());
    let mut sender = Sender::new();
    let _receiver = sender.mk_receiver();
    let back = sender.enqueue(Box::new(value.clone()));
    drop(sender);
    assert_eq!(Arc::strong_count(&value), 2);
    drop(back);
    eventually("it is dropped", || Arc::strong_count(&value) == 1);
}
