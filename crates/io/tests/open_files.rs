//! File descriptors: too few of them, those that a driver leaves open, and those that another program inherits. Faults
//! 106, 113 and 115.
//!
//! A process of its own: the limit and the files are the process's. One test, as its parts would see each other's files.

#![cfg(all(target_os = "linux", not(brigade_loom)))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::process::Command;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use brigade_io::{Async, Driver, TcpListener, TcpStream, UdpSocket, UnixStream, pipe};
use futures_lite::{AsyncWriteExt, future};

use self::machine::Machine;
use brigade_testkit::{poll_once, test};

mod machine;

/// The numbers of the open files, except for the one used for looking.
fn open() -> Vec<String> {
    let files = std::fs::read_dir("/proc/self/fd").unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

/// Runs a body with a limit on the number of any file.
fn limited<R>(numbers: u64, body: impl FnOnce() -> R) -> R {
    let mut former = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `former` is there to be written.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut former) }, 0);
    let limit = libc::rlimit { rlim_cur: numbers as libc::rlim_t, rlim_max: former.rlim_max };
    // SAFETY: `limit` is there to be read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let result = body();
    // SAFETY: `former` is there to be read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &former) }, 0);
    result
}

fn every_step_fails_cleanly_without_files() {
    let before = open();
    // Numbers are given from below, and there are no gaps but the one of the file that looked.
    let taken = before.len() as u64 - 1;
    let mut failed = 0;
    for more in 0..8 {
        let made = limited(taken + more, || {
            let driver = Driver::new()?;
            let pipe = driver.enter(pipe)?;
            let socket = driver.enter(|| future::block_on(UdpSocket::bind("127.0.0.1:0")))?;
            let pair = driver.enter(UnixStream::pair)?;
            io::Result::Ok((driver, pipe, socket, pair))
        });
        match made {
            Ok(made) => drop(made),
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "{more}: {error}");
                failed += 1;
            }
        }
        assert_eq!(open(), before, "{more} more: nothing is left");
    }
    println!("{failed} of 8 failed");
    assert!((4..8).contains(&failed), "{failed}: both ways were seen");
}

/// The numbers of the epoll instances.
fn instances() -> Vec<i32> {
    let numbers = open().into_iter().filter(|number| {
        // The one that looked is gone.
        let link = std::fs::read_link(format!("/proc/self/fd/{number}"));
        link.is_ok_and(|link| link.to_string_lossy().contains("eventpoll"))
    });
    numbers.map(|number| number.parse().unwrap()).collect()
}

/// Values that Rust's types exclude: a number without a file, and the driver's own files.
fn numbers_that_cannot_be_waited_for_are_refused() {
    let (before, others) = (open(), instances());
    let driver = Driver::new().unwrap();
    let own = instances().into_iter().find(|number| !others.contains(number)).unwrap();
    let closed = own + 1_000;
    for (number, expected) in [(closed, libc::EBADF), (i32::MAX, libc::EBADF), (own, libc::EINVAL)]
    {
        // SAFETY: not one of these is closed by it; those that are no files are what the test is about.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        let error = Async::with_driver(&driver, file).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(expected), "{number}");
        assert_eq!(driver.sources(), 0);
    }
    driver.notify();
    assert_eq!(driver.drive(None, &mut drop).unwrap(), 0, "it works as before");
    drop(driver);
    assert_eq!(open(), before);
}

/// If its number is another file's for a while, the system still watches a file, and fails to change how.
fn an_interest_that_could_not_be_changed_is_ended_by_a_later_event() {
    let driver = Driver::new().unwrap();
    let (reader, mut writer) = driver.enter(pipe).unwrap();
    let reader = Async::with_driver(&driver, reader.into_fd()).unwrap();
    let (same, other) = (reader.get_ref().try_clone().unwrap(), File::open("/dev/null").unwrap());
    let number = reader.get_ref().as_raw_fd();
    let replace_by = |file: BorrowedFd<'_>| {
        // SAFETY: the number stays that of an open file, and in the end that of its own.
        assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), number) }, number);
    };
    assert!(poll_once(&mut reader.readable(), &Arc::default()).is_pending());
    future::block_on(writer.write_all(b"x")).unwrap();

    let rest = Duration::from_millis(20);
    replace_by(other.as_fd());
    assert_eq!(driver.drive(Some(rest), &mut Waker::wake).unwrap(), 0, "no task waits for it");
    replace_by(same.as_fd());
    driver.drive(Some(rest), &mut Waker::wake).unwrap();
    // Otherwise it would return at once each time, as the byte has not been read.
    let begun = Instant::now();
    driver.drive(Some(rest), &mut Waker::wake).unwrap();
    assert!(begun.elapsed() >= rest);
}

/// The files that another program finds open: the standard three, its own, and those that this process was started with.
fn open_in_another() -> String {
    let output = Command::new("ls").arg("/proc/self/fd").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn another_program_gets_none() {
    let before = &open_in_another();
    let machine = Machine::start();
    machine.run(async {
        let pipe = pipe().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let both = future::zip(TcpStream::connect(address), listener.accept()).await;
        let pair = UnixStream::pair().unwrap();
        assert_eq!(&open_in_another(), before);
        drop((pipe, both, pair));
    });
}

#[test]
fn open_files_are_limited_closed_and_private() {
    every_step_fails_cleanly_without_files();
    numbers_that_cannot_be_waited_for_are_refused();
    an_interest_that_could_not_be_changed_is_ended_by_a_later_event();
    another_program_gets_none();
    let before = open();
    let machine = Machine::start();
    for _ in 0..10 {
        machine.run(async {
            let (_reader, _writer) = pipe().unwrap();
            let no_listener = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            TcpStream::connect(no_listener.local_addr().unwrap()).await.unwrap_err();
        });
    }
    drop(machine);
    assert_eq!(open(), before);
}
