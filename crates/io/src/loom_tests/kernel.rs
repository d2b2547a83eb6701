//! Waiting in the models: a kernel that records for each file whether it is readable, and reports it by the rules of its
//! trigger. Files are numbers here, and are not read or written.

use std::io;
use std::time::Duration;

use brigade_sync::{Condvar, Mutex};
use rustix::fd::{AsRawFd, BorrowedFd, RawFd};

use crate::event::{Directions, Event, Interest, Trigger, Watch};

/// The kernel of one driver.
#[derive(Debug)]
pub(crate) struct Poller {
    kernel: Mutex<Kernel>,
    /// Something has become ready, or there was a notification.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Kernel {
    /// The only trigger that is offered, if there are not two.
    only: Option<Trigger>,
    /// There was a notification, and no wait has ended since.
    notified: bool,
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    number: RawFd,
    watch: Watch,
    /// There is something to read.
    ready: bool,
    /// By edge: it has not been reported since something arrived or the interest was set.
    unreported: bool,
}

impl Poller {
    /// As on Linux.
    pub(crate) const REPORTS_THE_END: bool = true;

    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { kernel: Mutex::default(), changed: Condvar::new() })
    }

    pub(crate) fn trigger(&self, is_socket: bool) -> Trigger {
        self.kernel.lock().only.unwrap_or(Trigger::by_kind(is_socket))
    }

    pub(crate) fn notify(&self) -> io::Result<()> {
        self.kernel.lock().notified = true;
        self.changed.notify_all();
        Ok(())
    }

    /// There is no clock, so a timeout may be over at once.
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        let mut kernel = self.kernel.lock();
        loop {
            let notified = std::mem::take(&mut kernel.notified);
            events.0.extend(kernel.files.iter_mut().filter_map(File::report));
            if notified || !events.0.is_empty() || timeout.is_some() {
                return Ok(());
            }
            kernel = self.changed.wait(kernel, None);
        }
    }

    pub(crate) fn add(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()> {
        let number = file.as_raw_fd();
        let file = File { number, watch, ready: false, unreported: true };
        self.kernel.lock().files.push(file);
        Ok(())
    }

    pub(crate) fn modify(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()> {
        self.at(file, |file| (file.watch, file.unreported) = (watch, true));
        Ok(())
    }

    pub(crate) fn delete(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.kernel.lock().files.retain(|other| other.number != file.as_raw_fd());
        Ok(())
    }

    /// From now on it offers this trigger and no other.
    pub(crate) fn offer_only(&self, trigger: Trigger) {
        self.kernel.lock().only = Some(trigger);
    }

    /// Something to read arrives.
    pub(crate) fn arrive(&self, file: BorrowedFd<'_>) {
        self.at(file, |file| (file.ready, file.unreported) = (true, true));
    }

    /// Reads all there is.
    pub(crate) fn read(&self, file: BorrowedFd<'_>) -> io::Result<usize> {
        let mut found = false;
        self.at(file, |file| found = std::mem::take(&mut file.ready));
        if found { Ok(1) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    fn at(&self, file: BorrowedFd<'_>, change: impl FnOnce(&mut File)) {
        let mut kernel = self.kernel.lock();
        let number = file.as_raw_fd();
        if let Some(file) = kernel.files.iter_mut().find(|file| file.number == number) {
            change(file);
        }
        self.changed.notify_all();
    }
}

impl File {
    /// What a wait reports of it.
    fn report(&mut self) -> Option<Event> {
        let due = self.watch.trigger.reports_what_is_left() || self.unreported;
        if !(self.watch.interest.read && self.ready && due) {
            return None;
        }
        self.unreported = false;
        if self.watch.trigger == Trigger::Oneshot {
            self.watch.interest = Interest::NONE;
        }
        let ready = Directions { read: true, write: false };
        Some(Event { key: self.watch.key, ready, ended: Directions::default() })
    }
}

/// As they are.
pub(crate) struct Events(Vec<Event>);

impl Events {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().copied()
    }
}
