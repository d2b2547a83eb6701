//! The number of system calls of a burst, counted by the kernel.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(brigade_loom),
    not(brigade_portable)
))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use brigade_burst::{Receiver, Sender, channel};

use brigade_testkit::syscalls::{counted, mark};
use brigade_testkit::test;

/// Starts a thread that receives forever; returns the file in which the kernel reports its state.
fn sleeper(mut receiver: Receiver<usize>) -> String {
    let (name, named) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let task = std::fs::read_link("/proc/thread-self").unwrap();
        name.send(task.file_name().unwrap().to_str().unwrap().to_owned()).unwrap();
        receiver.iter().for_each(drop);
    });
    format!("/proc/self/task/{}/stat", named.recv().unwrap())
}

fn until_asleep(sender: &Sender<usize>, sleepers: &[String]) {
    let sleeps = |stat: &String| std::fs::read_to_string(stat).unwrap().contains(") S ");
    while sender.waiting() < sleepers.len() || !sleepers.iter().all(sleeps) {
        thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn a_burst_is_one_call_per_sleeping_group() {
    let (sender, mut polling) = channel();
    let sleepers: Vec<_> = (0..40).map(|_| sleeper(sender.new_receiver())).collect();
    let sections = counted(move || {
        until_asleep(&sender, &sleepers);
        mark();
        // Section 0: values without a wake, to three of the first group.
        let leftover = sender.dispatch_all(0..3);
        mark();
        // 1: their wake.
        sender.wake();
        mark();
        until_asleep(&sender, &sleepers);
        mark();
        // 3: both groups.
        let both = sender.burst(0..40);
        mark();
        until_asleep(&sender, &sleepers);
        mark();
        // 5: a wake without values.
        sender.wake();
        mark();
        let _nothing_yet = polling.try_recv();
        mark();
        // 7: a receiver that is awake, and all its calls.
        let awake = sender.burst([7]);
        let received = polling.try_recv();
        mark();
        assert_eq!(leftover.chain(both).chain(awake).count(), 0);
        assert_eq!(received, Ok(7));
        let (other, _busy) = channel();
        mark();
        // 9: no receiver waits.
        let busy = other.burst(0..40).size_hint();
        mark();
        assert_eq!(busy, (40, Some(40)));
    });
    let Some(sections) = sections else { return };
    let futex = libc::SYS_futex;
    let found = [0, 1, 3, 5, 7, 9].map(|section| sections[section].clone());
    assert_eq!(found, [vec![], vec![futex], vec![futex; 2], vec![], vec![], vec![]]);
}

#[test]
fn a_receiver_makes_a_system_call_only_to_sleep() {
    let (sender, mut receiver) = channel();
    let stat = Arc::new(OnceLock::new());
    let other = stat.clone();
    // Not started by the counted thread: its children are counted, too.
    let sending = thread::spawn(move || {
        let stat: String = loop {
            match other.get() {
                Some(stat) => break String::clone(stat),
                None => thread::yield_now(),
            }
        };
        until_asleep(&sender, &[stat]);
        assert_eq!(sender.burst([1]).count(), 0);
        while sender.dispatch(2).is_err() {
            thread::yield_now();
        }
        // Kept alive until the receiver is done.
        sender
    });
    let sections = counted(move || {
        let task = std::fs::read_link("/proc/thread-self").unwrap();
        stat.set(format!("/proc/{}/stat", task.display())).unwrap();
        mark();
        // Section 0: until it is woken.
        let woken = receiver.recv();
        mark();
        assert_eq!(woken, Ok(1));
        assert!(receiver.try_recv().is_err());
        let sender = sending.join().unwrap();
        mark();
        // 2: the value is there already.
        let there = receiver.recv();
        mark();
        assert_eq!(there, Ok(2));
        drop(sender);
    });
    let Some(sections) = sections else { return };
    assert_eq!(sections[0], [libc::SYS_futex]);
    assert!(sections[2].is_empty());
}
