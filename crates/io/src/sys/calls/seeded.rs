//! The system calls of Linux in a seeded run.
//!
//! Files, epoll instances and their events are the kernel's. Waiting is not: it would block the thread of the system on which all
//! threads of the run live. A thread polls instead, and then waits for a [change](changed) on the run's clock. Calls also fail, and
//! report events for no reason, as the seed says.

use std::sync::LazyLock;
use std::time::Duration;

use brigade_sync::seeded::one_in;
use brigade_sync::{Condvar, Mutex, time};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{PollFd, Timespec};
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::Errno;

use crate::event::Trigger;

/// Of this many blocking calls, a signal interrupts one.
const SIGNALS: u64 = 16;
/// With [`Faults::Some`] 1 in this many polls reports a file that may not be ready, and 1 in this many changes fails.
const FAULTS: u64 = 16;
/// With [`Faults::Fatal`] 1 in this many polls fails, and all after it.
const FATAL: u64 = 64;

/// The faults of a run's kernel, beside signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// None.
    #[default]
    None,
    /// Unready files are reported; adding a file fails, and so does changing an interest.
    Some,
    /// Beside these, waiting fails for good, after which a pool has no driver.
    Fatal,
}

static KERNEL: LazyLock<Mutex<Kernel>> = LazyLock::new(Mutex::default);
/// Something may have become ready.
static CHANGED: LazyLock<Condvar> = LazyLock::new(Condvar::default);

/// The faults, and a copy of the kernel's list of watched files.
#[derive(Debug, Default)]
struct Kernel {
    faults: Faults,
    /// A wait has failed, and so do all later waits.
    has_failed: bool,
    /// The files of all instances, in the order in which they were added.
    files: Vec<File>,
}

/// A file watched by an instance.
#[derive(Debug)]
struct File {
    instance: RawFd,
    number: RawFd,
    key: u64,
    flags: EventFlags,
}

/// Must be called at the begin of a run.
pub fn begin(faults: Faults) {
    *KERNEL.lock() = Kernel { faults, ..Kernel::default() };
}

/// Has each waiting thread poll again. Must be called after each read, write and close of a file if tasks may wait for it.
pub fn changed() {
    drop(KERNEL.lock());
    CHANGED.notify_all();
}

pub(super) fn trigger(is_socket: bool) -> Trigger {
    match one_in(2) {
        true => Trigger::by_kind(is_socket),
        false if one_in(3) => Trigger::Level,
        false if one_in(2) => Trigger::Edge,
        false => Trigger::Oneshot,
    }
}

pub(super) fn wait(
    epoll: &OwnedFd,
    events: &mut Vec<Event>,
    timeout: Option<&Timespec>,
) -> Result<(), Errno> {
    block(timeout, |kernel| {
        kernel.has_failed |= kernel.faults == Faults::Fatal && one_in(FATAL);
        if kernel.has_failed {
            return Err(Errno::NOMEM);
        }
        epoll::wait(epoll, spare_capacity(events), Some(&Timespec::default()))?;
        if kernel.faults != Faults::None && one_in(FAULTS) {
            let invented = kernel.invent(epoll, events)?;
            events.extend(invented);
        }
        Ok(!events.is_empty())
    })
}

pub(super) fn poll(files: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> Result<usize, Errno> {
    let mut found = 0;
    block(timeout, |kernel| {
        found = rustix::event::poll(files, Some(&Timespec::default()))?;
        found += usize::from(kernel.faults != Faults::None && one_in(FAULTS));
        Ok(found > 0)
    })?;
    Ok(found)
}

/// Polls until something is there, the time is over, or a signal comes.
fn block(
    timeout: Option<&Timespec>,
    mut poll: impl FnMut(&mut Kernel) -> Result<bool, Errno>,
) -> Result<(), Errno> {
    let timeout = timeout.map(|time| Duration::new(time.tv_sec as u64, time.tv_nsec as u32));
    let deadline = timeout.map(|timeout| time::now() + timeout);
    let mut kernel = KERNEL.lock();
    loop {
        let is_over = deadline.is_some_and(|deadline| time::until(deadline).is_zero());
        if poll(&mut kernel)? || is_over {
            return Ok(());
        }
        if one_in(SIGNALS) {
            return Err(Errno::INTR);
        }
        kernel = CHANGED.wait(kernel, deadline.map(time::until));
    }
}

pub(super) fn write(notifier: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    if one_in(SIGNALS) {
        return Err(Errno::INTR);
    }
    let written = rustix::io::write(notifier, bytes);
    changed();
    written
}

pub(super) fn add(
    epoll: &OwnedFd,
    file: BorrowedFd<'_>,
    data: EventData,
    flags: EventFlags,
) -> Result<(), Errno> {
    let mut kernel = KERNEL.lock();
    if kernel.faults != Faults::None && one_in(FAULTS) {
        return Err(Errno::NOSPC);
    }
    epoll::add(epoll, file, data, flags)?;
    let (instance, number) = (epoll.as_raw_fd(), file.as_raw_fd());
    kernel.files.push(File { instance, number, key: data.u64(), flags });
    drop(kernel);
    CHANGED.notify_all();
    Ok(())
}

pub(super) fn modify(
    epoll: &OwnedFd,
    file: BorrowedFd<'_>,
    data: EventData,
    flags: EventFlags,
) -> Result<(), Errno> {
    let mut kernel = KERNEL.lock();
    if kernel.faults != Faults::None && one_in(FAULTS) {
        return Err(Errno::NOMEM);
    }
    epoll::modify(epoll, file, data, flags)?;
    let (instance, number) = (epoll.as_raw_fd(), file.as_raw_fd());
    let watched = |file: &&mut File| (file.instance, file.number) == (instance, number);
    kernel.files.iter_mut().find(watched).expect("it was added").flags = flags;
    drop(kernel);
    CHANGED.notify_all();
    Ok(())
}

pub(super) fn delete(epoll: &OwnedFd, file: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut kernel = KERNEL.lock();
    let (instance, number) = (epoll.as_raw_fd(), file.as_raw_fd());
    kernel.files.retain(|file| (file.instance, file.number) != (instance, number));
    epoll::delete(epoll, file)
}

impl Kernel {
    /// An event of a file that may not be ready, in the directions of the instance's interest.
    fn invent(&mut self, epoll: &OwnedFd, events: &[Event]) -> Result<Option<Event>, Errno> {
        let interest = |file: &File| file.flags & (EventFlags::IN | EventFlags::OUT);
        let instance = epoll.as_raw_fd();
        let is_reported = |file: &File| events.iter().any(|event| event.data.u64() == file.key);
        let mut may_be = self.files.iter_mut().filter(|file| {
            file.instance == instance && !interest(file).is_empty() && !is_reported(file)
        });
        let Some(file) = may_be.find(|_| one_in(3)) else { return Ok(None) };
        let (flags, data) = (interest(file), EventData::new_u64(file.key));
        if file.flags.contains(EventFlags::ONESHOT) {
            file.flags = EventFlags::ONESHOT;
            // SAFETY: Delete rule; it is listed, so it has not been deleted, and is open.
            let number = unsafe { BorrowedFd::borrow_raw(file.number) };
            epoll::modify(epoll, number, data, file.flags)?;
        }
        Ok(Some(Event { flags, data }))
    }
}
