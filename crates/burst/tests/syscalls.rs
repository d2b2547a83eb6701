//! How many system calls a burst costs, counted by the kernel: a thread whose every call is announced to another one
//! (seccomp(2), `SECCOMP_RET_USER_NOTIF`), which writes it down and lets it go on.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(brigade_loom),
    not(brigade_portable)
))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use brigade_burst::{Receiver, Sender, channel};

use self::watchdog::Watchdog;

#[allow(dead_code, reason = "each test file uses its share")]
#[path = "it/watchdog.rs"]
mod watchdog;

/// As in `linux/seccomp.h`.
#[repr(C)]
#[derive(Default)]
struct Announced {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    arch: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// As in `linux/seccomp.h`.
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;
const GO_ON: u32 = 1;

/// Has every later system call of this thread announced at the file that is returned, or says that it can't be had.
fn announce_all() -> Option<i32> {
    let every_call = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_USER_NOTIF,
    };
    let mut rules = [every_call];
    let program = libc::sock_fprog { len: 1, filter: rules.as_mut_ptr() };
    // SAFETY: only numbers; the thread can't gain privileges any more, which it has no use for.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: `program` and its rules outlive the call, which copies them.
    let file = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &program,
        )
    };
    i32::try_from(file).ok().filter(|file| *file >= 0)
}

/// Writes down what is announced, and lets it happen; ends with the thread that makes the calls.
fn supervise(file: i32, log: &Mutex<Vec<i64>>) {
    loop {
        let mut call = Announced::default();
        // SAFETY: `call` has the layout and, all zero, the content that the kernel wants.
        if unsafe { libc::ioctl(file, RECEIVE, &mut call) } != 0 {
            return;
        }
        log.lock().unwrap().push(i64::from(call.number));
        let answer = Answer { id: call.id, value: 0, error: 0, flags: GO_ON };
        // SAFETY: `answer` has the layout that the kernel wants.
        unsafe { libc::ioctl(file, SEND, &answer) };
    }
}

/// Where one section of the log ends: a call that nothing here makes otherwise.
fn mark() {
    // SAFETY: takes nothing and can't fail.
    unsafe { libc::getppid() };
}

/// Runs a body on a thread of its own; returns the system calls between each two marks, first to last.
fn counted(body: impl FnOnce() + Send + 'static) -> Option<Vec<Vec<i64>>> {
    /// Not yet, and never.
    const UNKNOWN: i32 = -1;
    const NONE: i32 = -2;
    let file = Arc::new(AtomicI32::new(UNKNOWN));
    let announce = file.clone();
    let caller = thread::spawn(move || {
        let listener = announce_all();
        announce.store(listener.unwrap_or(NONE), Ordering::SeqCst);
        if listener.is_some() {
            body();
        }
    });
    while file.load(Ordering::SeqCst) == UNKNOWN {
        thread::yield_now();
    }
    let file = file.load(Ordering::SeqCst);
    if file == NONE {
        println!("not counted: this system does not announce system calls");
        caller.join().unwrap();
        return None;
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = log.clone();
    thread::spawn(move || supervise(file, &written));
    caller.join().unwrap();
    let log = log.lock().unwrap();
    let sections = log.split(|call| *call == libc::SYS_getppid).skip(1);
    Some(sections.map(<[i64]>::to_vec).collect())
}

/// A thread that receives for ever, and where the kernel says what it does.
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
fn a_burst_is_one_system_call_for_each_group_that_sleeps_and_none_for_others() {
    let _dog = Watchdog::start(60);
    let (sender, mut polling) = channel();
    let sleepers: Vec<_> = (0..40).map(|_| sleeper(sender.new_receiver())).collect();
    let sections = counted(move || {
        until_asleep(&sender, &sleepers);
        mark();
        // Section 0: values alone, to three of the first group.
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
        // 5: a wake of nobody.
        sender.wake();
        mark();
        let _nothing_yet = polling.try_recv();
        mark();
        // 7: one that is awake, and everything it does.
        let awake = sender.burst([7]).is_empty();
        let received = polling.try_recv();
        mark();
        assert!(leftover.is_empty() && both.is_empty() && awake);
        assert_eq!(received, Ok(7));
        let (other, _busy) = channel();
        mark();
        // 9: nobody waits.
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
fn a_receiver_that_sleeps_makes_one_system_call_and_one_that_need_not_none() {
    let _dog = Watchdog::start(60);
    let (sender, mut receiver) = channel();
    let stat = Arc::new(OnceLock::new());
    let other = stat.clone();
    // Not from within the counted thread: what that one starts is counted, too.
    let sending = thread::spawn(move || {
        let stat: String = loop {
            match other.get() {
                Some(stat) => break String::clone(stat),
                None => thread::yield_now(),
            }
        };
        until_asleep(&sender, &[stat]);
        assert!(sender.burst([1]).is_empty());
        while sender.dispatch(2).is_err() {
            thread::yield_now();
        }
        // Kept until nobody waits.
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
