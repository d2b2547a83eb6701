//! Models of the driver; `ci/loom.sh` runs them.
//!
//! The subject is the real [`Driver`] with real sources, on the kernel of `kernel.rs`, which is the poller of `sys` here. That
//! kernel has one lock, which orders more than a real one promises, so the wake flag has models of its own, without it.
//! Operations on the readiness are Relaxed everywhere: the models show that the source's lock gives the ordering they need.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::model::{check, turn};
use brigade_sync::{Condvar, Mutex};
use loom::thread;

use crate::attempt::Next;
use crate::event::{Direction, Trigger};
use crate::kind::Kind;
use crate::{Async, Driver, NoDriver};

mod sources;
mod wake_flag;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// A file; only its number is used.
type File = Async<BorrowedFd<'static>>;

fn number() -> BorrowedFd<'static> {
    static FILE: OnceLock<(UnixStream, UnixStream)> = OnceLock::new();
    FILE.get_or_init(|| UnixStream::pair().unwrap()).0.as_fd()
}

fn file(driver: &Arc<Driver>, trigger: Trigger) -> File {
    driver.poller().offer_only(trigger);
    Async::register(driver, number(), Kind::STREAM).unwrap()
}

/// Something to read arrives.
fn arrives(driver: &Driver) {
    driver.poller().arrive(number());
}

/// Reads once, or stores the waker.
fn read(file: &File, waker: &Waker) -> Poll<io::Result<usize>> {
    turn();
    let poller = file.driver().poller();
    let read = |file: &BorrowedFd<'static>| poller.read(*file);
    file.poll_with(Direction::Read, &Context::from_waker(waker), read, |_| Next::Blocks)
}

/// Drives once without waiting, unless another thread drives.
fn look(driver: &Driver) {
    turn();
    match driver.drive(Some(Duration::ZERO), &mut Waker::wake) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
    }
}

/// A task that records whether it was woken.
#[derive(Default)]
struct Task {
    woken: Mutex<bool>,
    wakes: Condvar,
}

impl Task {
    fn new() -> (Arc<Self>, Waker) {
        let task = Arc::new(Self::default());
        (Arc::clone(&task), Waker::from(task))
    }

    fn is_woken(&self) -> bool {
        *self.woken.lock()
    }

    fn sleep(&self) {
        let mut woken = self.woken.lock();
        while !*woken {
            woken = self.wakes.wait(woken, None);
        }
        *woken = false;
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        *self.woken.lock() = true;
        self.wakes.notify_one();
    }
}

/// Explores a model with each trigger.
fn check_each(preemptions: usize, model: impl Fn(Trigger) + Copy + Send + Sync + 'static) {
    for trigger in [Trigger::Level, Trigger::Edge, Trigger::Oneshot] {
        println!("{trigger:?}");
        check(preemptions, move || model(trigger));
    }
}
