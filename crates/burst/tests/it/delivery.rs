//! When a value may be received: with `Delivery::OnWake`, after the wake.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{hint, thread};

use brigade_burst::{
    Busy, Delivery, Disconnected, Receiver, RecvTimeoutError, Sender, TryRecvError, Turns,
};

use crate::crew::Crew;
use crate::tally::Tally;
use brigade_testkit::{eventually, test};

fn on_wake<T>() -> Sender<T> {
    Sender::with(Turns::AwakeFirst, Delivery::OnWake)
}

#[test]
fn only_withdraw_returns_a_value_before_its_wake() {
    let sender = on_wake();
    let mut receiver = sender.new_receiver();
    for round in 0..3 {
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        sender.dispatch(round).unwrap();
        for millis in [0, 2] {
            let timeout = receiver.recv_timeout(Duration::from_millis(millis));
            assert_eq!(timeout, Err(RecvTimeoutError::Timeout));
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        }
        assert_eq!(sender.dispatch(9), Err(Busy(9)), "it has a value already");
        assert_eq!(sender.wake(), 0, "it is not asleep");
        let received = match round {
            0 => receiver.recv().ok(),
            1 => receiver.recv_timeout(Duration::ZERO).ok(),
            _ => receiver.try_recv().ok(),
        };
        assert_eq!(received, Some(round));
        assert_eq!(sender.dispatch(9), Err(Busy(9)), "it does not wait");
    }
    assert!(receiver.try_recv().is_err());
    sender.dispatch(3).unwrap();
    assert_eq!(receiver.withdraw(), Some(3));
    assert_eq!((sender.wake(), sender.waiting()), (0, 0));
}

#[test]
fn a_timeout_without_a_value_withdraws() {
    let sender = on_wake();
    let mut receiver = sender.new_receiver();
    let timeout = receiver.recv_timeout(Duration::from_millis(1));
    assert_eq!(timeout, Err(RecvTimeoutError::Timeout));
    assert_eq!(sender.dispatch(1), Err(Busy(1)));
    assert!(receiver.try_recv().is_err());
    assert_eq!(sender.dispatch(2), Ok(()));
}

/// Waits for a value as a receiver with its own processor does: awake at first.
fn spin_and_recv<T>(receiver: &mut Receiver<T>) -> Option<T> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_micros(50) {
        match receiver.try_recv() {
            Err(TryRecvError::Empty) => hint::spin_loop(),
            received => return received.ok(),
        }
    }
    receiver.recv().ok()
}

/// The receivers spin, so that they are awake when their values are handed over.
#[test]
fn no_value_is_received_before_the_bursts_last() {
    const RECEIVERS: usize = 3;
    let sender = on_wake();
    let (woken, early) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..RECEIVERS {
            let mut receiver = sender.new_receiver();
            let (woken, early) = (&woken, &early);
            scope.spawn(move || {
                while let Some(round) = spin_and_recv(&mut receiver) {
                    if woken.load(Ordering::Relaxed) != round {
                        early.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for round in 1..2_000 {
            for _ in 0..RECEIVERS {
                while sender.dispatch(round).is_err() {
                    thread::yield_now();
                }
            }
            woken.store(round, Ordering::Relaxed);
            sender.wake();
        }
        drop(sender);
    });
    assert_eq!(early.into_inner(), 0);
}

#[test]
fn sleeping_receivers_stay_asleep_until_the_wake() {
    let sender = on_wake();
    let crew = Crew::waiting(&sender, 40);
    for round in 0..20 {
        eventually("all wait", || sender.waiting() == 40);
        assert_eq!(sender.dispatch_all([round; 40]).count(), 0);
        assert!(crew.is_silent(), "round {round}");
        sender.wake();
        assert_eq!(crew.take(40), [round; 40]);
    }
    drop(sender);
    assert!(crew.join().is_empty());
}

#[test]
fn the_senders_end_delivers_unwoken_values() {
    let sender = on_wake();
    let mut awake = sender.new_receiver();
    assert!(awake.try_recv().is_err());
    let crew = Crew::waiting(&sender, 2);
    assert_eq!(sender.dispatch_all(0..3).count(), 0);
    drop(sender);
    let mut received = crew.join();
    received.extend(awake.recv());
    received.sort_unstable();
    assert_eq!(received, [0, 1, 2]);
    assert_eq!(awake.recv(), Err(Disconnected));
}

/// Fault 20.
#[test]
fn a_dropped_receivers_value_moves_on_or_back() {
    let tally = Tally::default();
    let sender = on_wake();
    let mut first = sender.new_receiver();
    assert!(first.try_recv().is_err());
    sender.dispatch(tally.value(1)).unwrap();
    let crew = Crew::waiting(&sender, 1);
    drop(first);
    assert_eq!(crew.next().1.0, 1, "it is woken for it");
    eventually("it waits again", || sender.waiting() == 1);
    sender.dispatch(tally.value(2)).unwrap();
    sender.wake();
    assert_eq!(crew.next().1.0, 2);
    let mut last = sender.new_receiver();
    eventually("it waits again", || sender.waiting() == 1);
    assert!(sender.dispatch(tally.value(3)).is_ok());
    assert!(last.try_recv().is_err());
    assert!(sender.dispatch(tally.value(4)).is_ok());
    drop(last);
    let back = sender.take_back();
    assert_eq!(back.iter().map(|value| value.0).collect::<Vec<_>>(), [4]);
    drop((back, sender));
    assert_eq!(crew.join().len(), 1);
    assert_eq!((tally.alive(), tally.dropped()), (0, 4));
}

#[test]
fn values_beside_foreign_wakes_are_received_once() {
    const VALUES: usize = 5_000;
    let sender = on_wake();
    let (done, received) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..3 {
            let (mut receiver, received) = (sender.new_receiver(), &received);
            scope.spawn(move || {
                loop {
                    match receiver.recv_timeout(Duration::from_micros(number * 30)) {
                        Ok(_) => _ = received.fetch_add(1, Ordering::Relaxed),
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => break,
                    }
                }
            });
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    sender.wake();
                    thread::yield_now();
                }
            });
            for value in 0..VALUES {
                while sender.dispatch(value).is_err() {
                    thread::yield_now();
                }
                if value % 3 == 0 {
                    sender.wake();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        drop(sender);
    });
    assert_eq!(received.into_inner(), VALUES);
}
