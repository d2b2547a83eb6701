//! Models of the channel; `ci/loom.sh` runs them. The parkers of the receivers have models of their own, in `sync`.
//!
//! Not caught, as loom's exchanges always see the latest value: the pairs of Release and Acquire by which an empty slot is
//! passed on to the next put.

#![cfg(brigade_loom)]
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use brigade_burst::{Delivery, Disconnected, Receiver, RecvTimeoutError, Sender, Turns, channel};
use brigade_sync::atomic::{AtomicU32, Ordering};
use brigade_sync::model::{check, turn};
use loom::thread;

/// Compiles only if the atomics are loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A value on the heap, so that a value that is read twice or never is noticed.
type Value = Box<u32>;

/// Begins to wait without blocking.
fn offer(receiver: &mut Receiver<Value>) {
    assert!(receiver.try_recv().is_err());
}

/// Hands a value over and wakes; returns whether a receiver waited.
fn send(sender: &Sender<Value>, value: u32) -> bool {
    turn();
    let sent = sender.dispatch(Box::new(value)).is_ok();
    sender.wake();
    sent
}

/// Receives on a thread of its own.
fn receive(mut receiver: Receiver<Value>) -> thread::JoinHandle<Result<u32, Disconnected>> {
    thread::spawn(move || {
        turn();
        receiver.recv().map(|value| *value)
    })
}

/// Caught: a claim that leaves no pending wake (deadlock).
#[test]
fn a_value_reaches_a_receiver_going_to_sleep() {
    check(3, || {
        let (sender, mut receiver) = channel();
        offer(&mut receiver);
        let receiver = receive(receiver);
        assert!(send(&sender, 7));
        assert_eq!(receiver.join().unwrap(), Ok(7));
        assert_eq!(sender.waiting(), 0);
        assert_eq!(sender.wake(), 0, "no wake is pending");
    });
}

/// Caught: `close` without wakes (deadlock); a receiver that sees the end and does not withdraw (the value lost).
#[test]
fn a_new_receiver_or_the_sender_has_the_value() {
    check(3, || {
        let (sender, receiver) = channel();
        let receiver = receive(receiver);
        let sent = send(&sender, 7);
        drop(sender);
        assert_eq!(receiver.join().unwrap(), if sent { Ok(7) } else { Err(Disconnected) });
    });
}

/// Caught: a claim by a load and a store (one seat for two values).
#[test]
fn a_timeout_beside_a_dispatch_loses_no_value() {
    check(2, || {
        let (sender, mut receiver) = channel();
        let receiver = thread::spawn(move || {
            turn();
            let received = receiver.recv_timeout(Duration::from_micros(25));
            turn();
            (received, receiver)
        });
        let sent = send(&sender, 7);
        let (received, mut receiver) = receiver.join().unwrap();
        let expected = if sent { Ok(Box::new(7)) } else { Err(RecvTimeoutError::Timeout) };
        assert_eq!(received, expected);
        assert_eq!((sender.waiting(), sender.wake()), (0, 0));
        // The seat can be used again.
        offer(&mut receiver);
        let receiver = receive(receiver);
        assert!(send(&sender, 8));
        assert_eq!(receiver.join().unwrap(), Ok(8));
    });
}

/// Caught: the same two.
#[test]
fn a_dropped_senders_values_come_before_the_end() {
    check(3, || {
        let (sender, mut receiver) = channel();
        offer(&mut receiver);
        let receiver = thread::spawn(move || {
            turn();
            (receiver.recv(), receiver.recv())
        });
        turn();
        sender.dispatch(Box::new(7)).unwrap();
        drop(sender);
        assert_eq!(receiver.join().unwrap(), (Ok(Box::new(7)), Err(Disconnected)));
    });
}

#[test]
fn the_senders_drop_disconnects_every_receiver() {
    check(2, || {
        let (sender, first) = channel();
        let second = sender.new_receiver();
        let receivers = [receive(first), receive(second)];
        turn();
        drop(sender);
        assert_eq!(receivers.map(|receiver| receiver.join().unwrap()), [Err(Disconnected); 2]);
    });
}

/// Caught: a value redispatched without a wake (deadlock); a withdrawal that does not wait (deadlock).
#[test]
fn a_dropped_receivers_value_reaches_a_sleeper() {
    check(2, || {
        let (sender, mut first) = channel();
        let mut second = sender.new_receiver();
        offer(&mut first);
        offer(&mut second);
        let second = receive(second);
        let dropped = thread::spawn(move || {
            turn();
            drop(first);
        });
        assert!(send(&sender, 7));
        assert_eq!(second.join().unwrap(), Ok(7));
        dropped.join().unwrap();
        assert_eq!(sender.take_back(), []);
        assert_eq!((sender.waiting(), sender.wake()), (0, 0));
    });
}

/// Caught: a withdrawal that is too late and does not wait for the value (lost); `Slot::put` or `take` with Relaxed
/// where it hands the value over.
#[test]
fn the_last_receivers_value_comes_back() {
    check(3, || {
        let (sender, mut receiver) = channel();
        offer(&mut receiver);
        let dropped = thread::spawn(move || {
            turn();
            drop(receiver);
        });
        let sent = send(&sender, 7);
        dropped.join().unwrap();
        assert_eq!(sender.take_back(), if sent { vec![Box::new(7)] } else { vec![] });
    });
}

#[test]
fn two_senders_reach_two_receivers_once_each() {
    check(2, || {
        let (sender, mut first) = channel();
        let mut second = sender.new_receiver();
        offer(&mut first);
        offer(&mut second);
        let sender = Arc::new(sender);
        let senders = [1, 2].map(|value| {
            let sender = sender.clone();
            thread::spawn(move || send(&sender, value))
        });
        let mut received = [first.recv(), second.recv()].map(|value| *value.unwrap());
        received.sort_unstable();
        assert_eq!(received, [1, 2]);
        for sender in senders {
            assert!(sender.join().unwrap());
        }
        assert_eq!((sender.waiting(), sender.wake()), (0, 0));
    });
}

/// Caught: a claim by a load and a store (one seat for two values).
#[test]
fn one_of_two_senders_at_a_receiver_is_refused() {
    check(2, || {
        let (sender, mut receiver) = channel();
        offer(&mut receiver);
        let sender = Arc::new(sender);
        let senders = [1, 2].map(|value| {
            let sender = sender.clone();
            thread::spawn(move || send(&sender, value))
        });
        turn();
        let received = *receiver.recv().unwrap();
        let sent = senders.map(|sender| sender.join().unwrap());
        assert_eq!(sent, [received == 1, received == 2]);
    });
}

/// Another thread takes the pending wake, possibly before the value is in the slot.
///
/// Caught: a receiver that then goes back to sleep (deadlock).
#[test]
fn a_wake_between_claim_and_value_loses_nothing() {
    check(3, || {
        let (sender, mut receiver) = channel();
        offer(&mut receiver);
        let sender = Arc::new(sender);
        let other = sender.clone();
        let waker = thread::spawn(move || {
            turn();
            other.wake();
        });
        let receiver = receive(receiver);
        assert!(send(&sender, 7));
        assert_eq!(receiver.join().unwrap(), Ok(7));
        waker.join().unwrap();
    });
}

/// Fault 19: A is handed over and woken for, B is handed over and its wake is pending.
#[test]
fn each_value_waits_for_its_own_wake() {
    check(1, || {
        let (sender, mut first) = channel();
        let mut second = sender.new_receiver();
        offer(&mut first);
        let first = receive(first);
        assert!(send(&sender, 1));
        offer(&mut second);
        let second = receive(second);
        sender.dispatch(Box::new(2)).unwrap();
        assert_eq!(
            first.join().unwrap(),
            Ok(1),
            "the wake of one value is not used up by the other"
        );
        sender.wake();
        assert_eq!(second.join().unwrap(), Ok(2));
    });
}

#[test]
fn a_value_handed_on_beside_the_end_drops_once() {
    check(2, || {
        let (sender, mut first) = channel();
        let second = sender.new_receiver();
        let value = Arc::new(());
        assert!(first.try_recv().is_err());
        sender.dispatch(value.clone()).unwrap();
        let dropped = thread::spawn(move || {
            turn();
            drop(first);
        });
        let second = thread::spawn(move || {
            turn();
            let mut second = second;
            second.iter().count()
        });
        turn();
        drop(sender);
        dropped.join().unwrap();
        assert!(second.join().unwrap() <= 1);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

/// Creates a channel whose values are received after their wake, and its receiver.
fn on_wake<T>() -> (Sender<T>, Receiver<T>) {
    let sender = Sender::with(Turns::AwakeFirst, Delivery::OnWake);
    let receiver = sender.new_receiver();
    (sender, receiver)
}

/// Caught: a receiver that does not look for the pending wake; clearing it, or looking for it, with Relaxed (what was
/// written is not seen).
#[test]
fn delivery_on_wake_publishes_earlier_writes() {
    check(3, || {
        let (sender, mut receiver) = on_wake();
        offer(&mut receiver);
        let written = Arc::new(AtomicU32::new(0));
        let seen = written.clone();
        let receiver = thread::spawn(move || {
            turn();
            receiver.recv().map(|value| (*value, seen.load(Ordering::Relaxed)))
        });
        turn();
        sender.dispatch(Box::new(7)).unwrap();
        turn();
        written.store(1, Ordering::Relaxed);
        sender.wake();
        assert_eq!(receiver.join().unwrap(), Ok((7, 1)));
        assert_eq!((sender.waiting(), sender.wake()), (0, 0));
    });
}

#[test]
fn delivery_on_wake_leaves_the_value_with_either_side() {
    check(3, || {
        let (sender, receiver) = on_wake();
        let receiver = receive(receiver);
        let sent = send(&sender, 7);
        drop(sender);
        assert_eq!(receiver.join().unwrap(), if sent { Ok(7) } else { Err(Disconnected) });
    });
}

/// Another thread takes the pending wake, possibly before the value is in the slot.
///
/// Caught: a receiver that then goes back to sleep (deadlock).
#[test]
fn delivery_on_wake_loses_nothing_to_a_foreign_wake() {
    check(3, || {
        let (sender, mut receiver) = on_wake();
        offer(&mut receiver);
        let sender = Arc::new(sender);
        let other = sender.clone();
        let waker = thread::spawn(move || {
            turn();
            other.wake();
        });
        let receiver = receive(receiver);
        assert!(send(&sender, 7));
        assert_eq!(receiver.join().unwrap(), Ok(7));
        waker.join().unwrap();
    });
}

/// Caught: a timeout that forgets the offer although it was too late to withdraw (deadlock).
#[test]
fn delivery_on_wake_keeps_a_timed_out_value() {
    check(3, || {
        let (sender, mut receiver) = on_wake();
        offer(&mut receiver);
        let receiver = thread::spawn(move || {
            turn();
            let first = receiver.recv_timeout(Duration::ZERO);
            turn();
            first.map_err(|_| ()).or_else(|()| receiver.recv())
        });
        turn();
        let sent = sender.dispatch(Box::new(7)).is_ok();
        turn();
        sender.wake();
        // Only if the receiver has nothing to wait for: otherwise the end would deliver what the wake has not.
        let sender = sent.then_some(sender);
        let received = receiver.join().unwrap();
        assert_eq!(received, if sent { Ok(Box::new(7)) } else { Err(Disconnected) });
        assert_eq!(sender.map_or((0, 0), |sender| (sender.waiting(), sender.wake())), (0, 0));
    });
}

/// Caught: a value redispatched without a wake (deadlock).
#[test]
fn delivery_on_wake_moves_a_dropped_value_to_a_sleeper() {
    check(2, || {
        let (sender, mut first) = on_wake();
        let mut second = sender.new_receiver();
        offer(&mut first);
        offer(&mut second);
        let second = receive(second);
        let dropped = thread::spawn(move || {
            turn();
            drop(first);
        });
        assert!(send(&sender, 7));
        assert_eq!(second.join().unwrap(), Ok(7));
        dropped.join().unwrap();
        assert_eq!(sender.take_back(), []);
        assert_eq!((sender.waiting(), sender.wake()), (0, 0));
    });
}

/// They may search from the same position.
///
/// Caught: a search that ends at the last seat (a value is returned); a claim by a load and a store (deadlock).
#[test]
fn two_senders_with_turns_reach_two_receivers() {
    check(2, || {
        let sender = Arc::new(Sender::with(Turns::RoundRobin, Delivery::AtOnce));
        let (mut first, mut second) = (sender.new_receiver(), sender.new_receiver());
        offer(&mut first);
        offer(&mut second);
        let senders = [1, 2].map(|value| {
            let sender = sender.clone();
            thread::spawn(move || send(&sender, value))
        });
        let mut received = [first.recv(), second.recv()].map(|value| *value.unwrap());
        received.sort_unstable();
        assert_eq!(received, [1, 2]);
        for sender in senders {
            assert!(sender.join().unwrap());
        }
        offer(&mut second);
        sender.dispatch(Box::new(3)).unwrap();
        assert_eq!(second.recv(), Ok(Box::new(3)), "wherever the turn is");
    });
}
