//! Driving, reading and connecting under a thousand signals a second and more, without a restart of what they interrupt.
//! Fault 108.
//!
//! A process of its own: the timer is the process's.

#![cfg(all(unix, not(brigade_loom)))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::io::Write;
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use brigade_io::{Driver, TcpListener, TcpStream, pipe};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use self::machine::{Kind, Machine};
use brigade_testkit::{WakeCounter, poll_once, test};

mod machine;

/// How many signals there were.
static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Has SIGALRM counted, and system calls interrupted by it.
fn handle() {
    // SAFETY: all zero is a `sigaction` without flags, and an empty set of signals.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // No SA_RESTART: the system call ends.
    action.sa_sigaction = count as *const () as usize;
    // SAFETY: the handler does nothing but add to an atomic.
    assert_eq!(unsafe { libc::sigaction(libc::SIGALRM, &action, ptr::null_mut()) }, 0);
}

/// Runs a body on a thread that gets more than a thousand signals a second until it returns.
fn under_fire<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    handle();
    let done = &AtomicBool::new(false);
    let ending = &AtomicBool::new(false);
    let (name, named) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let target = scope.spawn(move || {
            // SAFETY: takes nothing and can't fail.
            name.send(unsafe { libc::pthread_self() }).unwrap();
            let result = body();
            done.store(true, Ordering::SeqCst);
            // Alive until no signal is sent to it any more.
            while !ending.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            result
        });
        let thread = named.recv().unwrap();
        while !done.load(Ordering::SeqCst) && !target.is_finished() {
            // SAFETY: the thread waits for `ending`, or has panicked and is joined below, not detached.
            unsafe { libc::pthread_kill(thread, libc::SIGALRM) };
            thread::sleep(Duration::from_micros(300));
        }
        ending.store(true, Ordering::SeqCst);
        target.join().unwrap()
    })
}

#[test]
fn signals_end_no_wait_and_are_no_errors() {
    const ENOUGH: u64 = 20;
    let driver = Driver::new().unwrap();
    under_fire(|| {
        let before = SIGNALS.load(Ordering::Relaxed);
        while SIGNALS.load(Ordering::Relaxed) - before < ENOUGH {
            for timeout in [50, 2, 1, 20].map(Duration::from_millis) {
                let begun = Instant::now();
                assert_eq!(driver.drive(Some(timeout), &mut Waker::wake).unwrap(), 0);
                assert!(begun.elapsed() >= timeout);
            }
        }
    });
}

#[test]
fn bytes_arrive_under_signals() {
    const ROUNDS: u32 = 2_000;
    let machine = Machine::start();
    under_fire(|| {
        machine.run(async {
            let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let (client, server) =
                future::zip(TcpStream::connect(address), listener.accept()).await;
            let (mut client, mut server) = (client.unwrap(), server.unwrap().0);
            let (mut reader, mut writer) = pipe().unwrap();
            for round in 0..ROUNDS {
                let mut received = [0; 4];
                client.write_all(&round.to_le_bytes()).await.unwrap();
                server.read_exact(&mut received).await.unwrap();
                writer.write_all(&received).await.unwrap();
                reader.read_exact(&mut received).await.unwrap();
                assert_eq!(u32::from_le_bytes(received), round);
            }
        });
    });
    drop(machine);
    machine::with_each_kind(drive_under_fire);
}

/// Bytes that another thread writes arrive where one thread reads and drives.
fn drive_under_fire(kind: Kind) {
    const BYTES: usize = 100;
    let driver = Driver::new().unwrap();
    let (mut reader, mut writer) = kind.reader(&driver);
    let (next, wanted) = std::sync::mpsc::channel();
    let writing = thread::spawn(move || {
        // One at a time, each when the one before has been read: the reader waits for each.
        while let Ok(()) = wanted.recv() {
            thread::yield_now();
            writer.write_all(b"x").unwrap();
        }
    });
    under_fire(move || {
        let count = Arc::new(WakeCounter::default());
        for _ in 0..BYTES {
            next.send(()).unwrap();
            let mut buffer = [0; 8];
            while poll_once(&mut reader.read(&mut buffer), &count).is_pending() {
                driver.drive(None, &mut Waker::wake).unwrap();
            }
        }
    });
    writing.join().unwrap();
}
