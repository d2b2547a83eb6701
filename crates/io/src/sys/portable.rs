//! Waiting where there is no epoll, by the crate `polling`.

use std::io;
use std::time::{Duration, Instant};

use polling::PollMode;
use rustix::fd::{AsRawFd, BorrowedFd};

use super::{Event, Interest};
use crate::Trigger;

/// What `polling` found on this system.
#[derive(Debug)]
pub(crate) struct Poller {
    /// kqueue, event ports, IOCP, or epoll in a test.
    inner: polling::Poller,
}

impl Poller {
    /// Not told by every system: in edge-triggered mode a short read proves nothing.
    pub(crate) const TELLS_THE_END: bool = false;

    pub(crate) fn new(trigger: Trigger) -> io::Result<Self> {
        let inner = polling::Poller::new()?;
        let offered = match trigger {
            Trigger::Level => inner.supports_level(),
            Trigger::Edge => inner.supports_edge(),
            Trigger::ByKind => inner.supports_level() && inner.supports_edge(),
            Trigger::Oneshot => true,
        };
        if offered { Ok(Self { inner }) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    /// Ends the wait of this moment, or the next one.
    pub(crate) fn ring(&self) -> io::Result<()> {
        self.inner.notify()
    }

    /// Waits for at least one event, the bell or the end of `timeout`.
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        // A deadline beyond the clock's range is none.
        match timeout.and_then(|timeout| Instant::now().checked_add(timeout)) {
            None => self.inner.wait(&mut events.0, None)?,
            Some(deadline) => self.inner.wait_deadline(&mut events.0, deadline)?,
        };
        Ok(())
    }

    /// Has `file` watched under `key`.
    pub(super) fn add(
        &self,
        file: BorrowedFd<'_>,
        key: usize,
        asked: Interest,
        trigger: Trigger,
    ) -> io::Result<()> {
        let event = polling::Event::new(key, asked.read, asked.write);
        // SAFETY: Delete rule of `source`, the only caller: it deletes the file before the file is closed.
        unsafe { self.inner.add_with_mode(file.as_raw_fd(), event, mode(asked, trigger)) }
    }

    /// Changes what `file` is watched for.
    pub(super) fn change(
        &self,
        file: BorrowedFd<'_>,
        key: usize,
        asked: Interest,
        trigger: Trigger,
    ) -> io::Result<()> {
        let event = polling::Event::new(key, asked.read, asked.write);
        self.inner.modify_with_mode(file, event, mode(asked, trigger))
    }

    /// Has `file` watched no longer.
    pub(super) fn delete(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.inner.delete(file)
    }
}

/// How the system is asked; `trigger` is that of one source.
fn mode(asked: Interest, trigger: Trigger) -> PollMode {
    match trigger {
        Trigger::Edge => PollMode::Edge,
        Trigger::Oneshot => PollMode::Oneshot,
        // Some systems tell of errors unasked. Asked for nothing, they have to tell those once only.
        _ if asked == Interest::NONE => PollMode::Oneshot,
        _ => PollMode::Level,
    }
}

/// Room for the events of one wait.
pub(crate) struct Events(polling::Events);

impl Events {
    pub(crate) fn new() -> Self {
        Self(polling::Events::new())
    }

    /// What was heard of sources.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().map(|event| Event {
            key: event.key,
            read: event.readable,
            write: event.writable,
            read_ended: false,
            write_ended: false,
        })
    }
}
