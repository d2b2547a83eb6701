//! Waiting in the models: a kernel that knows one thing about each file, whether it is ready, and tells of it by the rules
//! of each trigger. Files are numbers here, and nobody reads or writes them.

use std::io;
use std::time::Duration;

use brigade_sync::{Condvar, Mutex};
use rustix::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{Event, Interest};
use crate::Trigger;

/// The kernel of one driver.
#[derive(Debug)]
pub(crate) struct Poller {
    trigger: Trigger,
    kernel: Mutex<Kernel>,
    /// Something has become ready, or the bell rang.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Kernel {
    /// The bell was rung and no wait has ended since.
    rung: bool,
    watched: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    file: RawFd,
    key: usize,
    asked: Interest,
    /// There is something to read.
    ready: bool,
    /// It has not been told since it was asked; by edge, or since something arrived.
    news: bool,
}

impl Poller {
    /// As on Linux.
    pub(crate) const TELLS_THE_END: bool = true;

    pub(crate) fn new(trigger: Trigger) -> io::Result<Self> {
        Ok(Self { trigger, kernel: Mutex::default(), changed: Condvar::new() })
    }

    /// Ends the wait of this moment, or the next one.
    pub(crate) fn ring(&self) -> io::Result<()> {
        self.kernel.lock().rung = true;
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for at least one event or the bell; there is no clock, so a timeout may be over at once.
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        let mut kernel = self.kernel.lock();
        loop {
            let rung = std::mem::take(&mut kernel.rung);
            events.0.extend(kernel.watched.iter_mut().filter_map(|one| one.tell(self.trigger)));
            if rung || !events.0.is_empty() || timeout.is_some() {
                return Ok(());
            }
            kernel = self.changed.wait(kernel, None);
        }
    }

    /// Has `file` watched under `key`.
    pub(super) fn add(
        &self,
        file: BorrowedFd<'_>,
        key: usize,
        asked: Interest,
        _: Trigger,
    ) -> io::Result<()> {
        let file = file.as_raw_fd();
        let new = Watched { file, key, asked, ready: false, news: true };
        self.kernel.lock().watched.push(new);
        Ok(())
    }

    /// Changes what `file` is watched for.
    pub(super) fn change(
        &self,
        file: BorrowedFd<'_>,
        key: usize,
        asked: Interest,
        _: Trigger,
    ) -> io::Result<()> {
        self.at(file.as_raw_fd(), |watched| {
            (watched.key, watched.asked, watched.news) = (key, asked, true);
        });
        Ok(())
    }

    /// Has `file` watched no longer.
    pub(super) fn delete(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.kernel.lock().watched.retain(|watched| watched.file != file.as_raw_fd());
        Ok(())
    }

    /// Something to read arrives.
    pub(crate) fn arrives(&self, file: BorrowedFd<'_>) {
        self.at(file.as_raw_fd(), |watched| {
            watched.ready = true;
            watched.news |= self.trigger == Trigger::Edge;
        });
    }

    /// Reads all there is.
    pub(crate) fn read(&self, file: BorrowedFd<'_>) -> io::Result<usize> {
        let mut found = false;
        self.at(file.as_raw_fd(), |watched| found = std::mem::take(&mut watched.ready));
        if found { Ok(1) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    fn at(&self, file: RawFd, change: impl FnOnce(&mut Watched)) {
        let mut kernel = self.kernel.lock();
        if let Some(watched) = kernel.watched.iter_mut().find(|watched| watched.file == file) {
            change(watched);
        }
        self.changed.notify_all();
    }
}

impl Watched {
    /// What a wait says of it.
    fn tell(&mut self, trigger: Trigger) -> Option<Event> {
        let tells = self.asked.read && self.ready && (trigger == Trigger::Level || self.news);
        if !tells {
            return None;
        }
        self.news = false;
        Some(Event {
            key: self.key,
            read: true,
            write: false,
            read_ended: false,
            write_ended: false,
        })
    }
}

/// Room for the events of one wait.
pub(crate) struct Events(Vec<Event>);

impl Events {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// What was heard of sources.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().copied()
    }
}
