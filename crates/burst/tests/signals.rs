//! Receivers and the sender under a thousand signals a second, whose handlers do not restart system calls. Fault 23.
//!
//! A test binary of its own, as the timer belongs to the process.

#![cfg(all(unix, not(brigade_loom)))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use brigade_burst::channel;

use brigade_testkit::test;

/// Counts the signals.
static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Interrupts threads a thousand times a second while `body` runs.
fn under_fire(body: impl FnOnce()) {
    // SAFETY: all zero is a `sigaction` without flags, and an empty set of signals.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // No SA_RESTART: the system call returns.
    action.sa_sigaction = count as *const () as usize;
    // SAFETY: the handler does nothing but add to an atomic.
    assert_eq!(unsafe { libc::sigaction(libc::SIGALRM, &action, ptr::null_mut()) }, 0);
    let every = |micros| libc::timeval { tv_sec: 0, tv_usec: micros };
    let timer = |micros| {
        let timer = libc::itimerval { it_interval: every(micros), it_value: every(micros) };
        // SAFETY: `timer` outlives the call.
        assert_eq!(unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut()) }, 0);
    };
    timer(1000);
    body();
    timer(0);
}

/// Sends the signal to these threads, too: the kernel chooses the thread that gets the timer's.
fn pester(threads: &[libc::pthread_t], done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        for thread in threads {
            // SAFETY: the threads end after this one, which `done` ends.
            unsafe { libc::pthread_kill(*thread, libc::SIGALRM) };
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn signals_are_no_errors_and_lose_nothing() {
    const RECEIVERS: usize = 4;
    const VALUES: usize = 2_000;
    let begun = Instant::now();
    under_fire(|| {
        let (sender, first) = channel();
        drop(first);
        let done = AtomicBool::new(false);
        let ending = AtomicBool::new(false);
        thread::scope(|scope| {
            let (name, names) = std::sync::mpsc::channel();
            let receivers: Vec<_> = (0..RECEIVERS)
                .map(|number| {
                    let mut receiver = sender.new_receiver();
                    let (name, ending) = (name.clone(), &ending);
                    scope.spawn(move || {
                        // SAFETY: takes nothing and can't fail.
                        name.send(unsafe { libc::pthread_self() }).unwrap();
                        let mut received = Vec::new();
                        loop {
                            // Half of them with a timeout that does not pass.
                            let long = Duration::from_secs(3600);
                            match number % 2 {
                                0 => match receiver.recv() {
                                    Ok(value) => received.push(value),
                                    Err(_) => break,
                                },
                                _ => match receiver.recv_timeout(long) {
                                    Ok(value) => received.push(value),
                                    Err(brigade_burst::RecvTimeoutError::Disconnected) => break,
                                    Err(timeout) => panic!("{timeout}: not within an hour"),
                                },
                            }
                        }
                        // Alive until no signals are sent any more.
                        while !ending.load(Ordering::Relaxed) {
                            thread::yield_now();
                        }
                        received
                    })
                })
                .collect();
            let threads: Vec<_> = names.iter().take(RECEIVERS).collect();
            let done = &done;
            let pesterer = scope.spawn(move || pester(&threads, done));
            let mut work: Vec<usize> = (0..VALUES).collect();
            while !work.is_empty() {
                work = sender.burst(work).collect();
                // Long enough for the receivers to be interrupted in their sleep.
                thread::sleep(Duration::from_millis(2));
            }
            drop(sender);
            done.store(true, Ordering::Relaxed);
            pesterer.join().unwrap();
            ending.store(true, Ordering::Relaxed);
            let mut received: Vec<_> =
                receivers.into_iter().flat_map(|receiver| receiver.join().unwrap()).collect();
            received.sort_unstable();
            assert!(received.into_iter().eq(0..VALUES));
        });
    });
    let signals = SIGNALS.load(Ordering::Relaxed);
    assert!(signals > 500, "{signals} signals in {:?}", begun.elapsed());
}
