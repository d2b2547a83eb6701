//! Waiting where there is no epoll, by the crate `polling`.

use std::io;
use std::time::{Duration, Instant};

use polling::PollMode;
use rustix::fd::{AsRawFd, BorrowedFd};

use super::{Backend, EventBuffer};
use crate::event::{Directions, Event, Interest, Trigger, Watch};

/// What `polling` found on this system.
#[derive(Debug)]
pub(crate) struct Poller {
    /// kqueue, IOCP, `poll`, or epoll in a test.
    inner: polling::Poller,
    /// The only trigger that is offered, if there are not both.
    only: Option<Trigger>,
}

impl Backend for Poller {
    type Events = Events;

    /// Not by every system.
    const REPORTS_THE_END: bool = false;

    fn new() -> io::Result<Self> {
        let inner = polling::Poller::new()?;
        let only = match (inner.supports_level(), inner.supports_edge()) {
            (true, true) => None,
            (true, false) => Some(Trigger::Level),
            (false, true) => Some(Trigger::Edge),
            (false, false) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { inner, only })
    }

    fn trigger(&self, is_socket: bool) -> Trigger {
        self.only.unwrap_or(Trigger::by_kind(is_socket))
    }

    fn notify(&self) -> io::Result<()> {
        self.inner.notify()
    }

    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        // A deadline beyond the clock's range is none.
        match timeout.and_then(|timeout| Instant::now().checked_add(timeout)) {
            None => self.inner.wait(&mut events.0, None)?,
            Some(deadline) => self.inner.wait_deadline(&mut events.0, deadline)?,
        };
        Ok(())
    }

    fn add(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()> {
        // SAFETY: Delete rule of `source`, the only caller: it deletes the file before the file is closed.
        unsafe { self.inner.add_with_mode(file.as_raw_fd(), event(watch), mode(watch)) }
    }

    fn modify(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()> {
        self.inner.modify_with_mode(file, event(watch), mode(watch))
    }

    fn delete(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.inner.delete(file)
    }
}

fn event(watch: Watch) -> polling::Event {
    polling::Event::new(watch.key, watch.interest.read, watch.interest.write)
}

fn mode(watch: Watch) -> PollMode {
    match watch.trigger {
        Trigger::Edge => PollMode::Edge,
        // Some systems report errors unasked. If there is no interest, they must report those once only.
        Trigger::Level if watch.interest == Interest::NONE => PollMode::Oneshot,
        Trigger::Level => PollMode::Level,
    }
}

/// As `polling` has them.
pub(crate) struct Events(polling::Events);

impl EventBuffer for Events {
    fn new() -> Self {
        Self(polling::Events::new())
    }

    fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().map(|event| Event {
            key: event.key,
            ready: Directions { read: event.readable, write: event.writable },
            ended: Directions::default(),
        })
    }
}
