//! All operations at once, by a seed that is printed.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use brigade_burst::{RecvTimeoutError, Sender, channel};

use brigade_testkit::{Seed, test};

/// Receives in all ways; now and then drops its receiver, with or without a value, and creates a new one.
fn receive(sender: &Sender<usize>, mut seed: Seed, done: &Mutex<bool>) -> Vec<usize> {
    let mut received = Vec::new();
    let mut receiver = sender.new_receiver();
    while !*done.lock().unwrap() {
        match seed.below(6) {
            0 => received.extend(receiver.try_recv()),
            1 => {
                drop(receiver);
                receiver = sender.new_receiver();
            }
            2 => received.extend(receiver.withdraw()),
            _ => match receiver.recv_timeout(Duration::from_micros(seed.below(300))) {
                Ok(value) => received.push(value),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the sender is borrowed"),
            },
        }
    }
    received.extend(receiver.withdraw());
    received
}

#[test(120)]
fn a_storm_receives_or_returns_each_value_once() {
    const SENDERS: usize = 2;
    const EACH: usize = 20_000;
    let seed = Seed::printed();
    // Only the threads have receivers, which they drop.
    let (sender, first) = channel();
    drop(first);
    let done = Mutex::new(false);
    let send = |number: usize| {
        let mut seed = seed.fork(number as u64);
        let mut work: Vec<_> = (number * EACH..(number + 1) * EACH).collect();
        while !work.is_empty() {
            let rest = work.split_off(work.len() - work.len().min(1 + seed.below(5) as usize));
            work.extend(match seed.below(3) {
                0 => sender.dispatch_all(rest),
                _ => sender.burst(rest),
            });
            work.extend(sender.take_back());
            if seed.below(4) == 0 {
                thread::sleep(Duration::from_micros(seed.below(50)));
            }
        }
    };
    let mut received: Vec<usize> = thread::scope(|scope| {
        let receivers: Vec<_> = (10..16)
            .map(|number| {
                let (sender, seed, done) = (&sender, seed.fork(number), &done);
                scope.spawn(move || receive(sender, seed, done))
            })
            .collect();
        let senders: Vec<_> =
            (0..SENDERS).map(|number| scope.spawn(move || send(number))).collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        *done.lock().unwrap() = true;
        receivers.into_iter().flat_map(|receiver| receiver.join().unwrap()).collect()
    });
    received.extend(sender.take_back());
    received.sort_unstable();
    assert!(received.into_iter().eq(0..SENDERS * EACH));
    assert_eq!((sender.waiting(), sender.wake()), (0, 0));
}
