//! A tiny executor, a thread that drives beside the test's own, which polls one future; and files of each kind.
#![allow(dead_code, reason = "each test binary uses its share")]

#[cfg(unix)]
use std::fs::File;
use std::future::Future;
use std::io;
#[cfg(unix)]
use std::os::{fd::OwnedFd, unix::net::UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread;

#[cfg(unix)]
use brigade_io::Async;
use brigade_io::Driver;
use futures_lite::future;

/// The kinds of files that the driver treats differently. A program must not see a difference.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// By level.
    Pipe,
    /// By edge.
    Socket,
}

#[cfg(unix)]
impl Kind {
    /// Two connected files, which both block. What is written to the second is read from the first.
    pub(crate) fn files(self) -> [File; 2] {
        let [reader, writer]: [OwnedFd; 2] = match self {
            Self::Pipe => {
                let (reader, writer) = rustix::pipe::pipe().unwrap();
                [reader, writer]
            }
            Self::Socket => {
                let (reader, writer) = UnixStream::pair().unwrap();
                [reader.into(), writer.into()]
            }
        };
        [reader.into(), writer.into()]
    }

    /// The same, of which the first is registered.
    pub(crate) fn reader(self, driver: &Arc<Driver>) -> (Async<File>, File) {
        let [reader, writer] = self.files();
        (Async::with_driver(driver, reader).unwrap(), writer)
    }

    /// The same, of which both are registered.
    pub(crate) fn ends(self, driver: &Arc<Driver>) -> (Async<File>, Async<File>) {
        let (reader, writer) = self.reader(driver);
        (reader, Async::with_driver(driver, writer).unwrap())
    }
}

/// Runs the body once with each kind of file; if it fails, the kind is printed.
#[cfg(unix)]
pub(crate) fn with_each_kind(body: impl Fn(Kind)) {
    for kind in [Kind::Pipe, Kind::Socket] {
        println!("{kind:?}");
        body(kind);
    }
}

/// A driver and the thread that drives it, until it is dropped.
pub(crate) struct Machine {
    pub(crate) driver: Arc<Driver>,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Machine {
    pub(crate) fn start() -> Self {
        Self::with(Driver::new().unwrap())
    }

    pub(crate) fn with(driver: Arc<Driver>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (own, stopped) = (driver.clone(), stop.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                own.drive(None, &mut Waker::wake).unwrap();
            }
        });
        Self { driver, stop, thread: Some(thread) }
    }

    /// Runs a future on this thread, with the driver as its current one.
    pub(crate) fn run<R>(&self, future: impl Future<Output = R>) -> R {
        self.driver.enter(|| future::block_on(future))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.driver.notify();
        let ended = self.thread.take().map(thread::JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// Runs a future beside a thread that drives; nothing may be left registered.
pub(crate) fn on_a_machine<E: Future<Output = io::Result<()>>>(body: impl FnOnce() -> E) {
    let machine = Machine::start();
    machine.run(async { body().await }).unwrap();
    assert_eq!(machine.driver.sources(), 0, "nothing is left");
}

/// The same with the two ends of a file of each kind, once it has been entered.
#[cfg(unix)]
pub(crate) fn on_each_machine<E: Future<Output = io::Result<()>>>(
    body: impl Fn(Async<File>, Async<File>) -> E,
) {
    with_each_kind(|kind| {
        on_a_machine(|| {
            let (reader, writer) = kind.ends(&Driver::current().unwrap());
            body(reader, writer)
        });
    });
}

/// Drives without waiting; returns how many tasks it woke.
pub(crate) fn drive_now(driver: &Driver) -> usize {
    driver.drive(Some(std::time::Duration::ZERO), &mut Waker::wake).unwrap()
}
