//! Waiting without epoll, by the crate `polling`. `sys` describes each method.

use std::io;
use std::time::Duration;

use brigade_sync::time;
use polling::PollMode;
use rustix::fd::{AsRawFd, BorrowedFd};

use crate::event::{Directions, Event, Interest, Trigger, Watch};

/// The poller that `polling` found on this system.
#[derive(Debug)]
pub(crate) struct Poller {
    /// kqueue, IOCP, `poll`, or epoll in a test.
    inner: polling::Poller,
    /// The only trigger for all files, if level and edge are not both offered.
    only: Option<Trigger>,
}

impl Poller {
    /// Not by every system.
    pub(crate) const REPORTS_THE_END: bool = false;

    pub(crate) fn new() -> io::Result<Self> {
        // Windows has sockets once a process has asked for them, as the standard library does for its own. A driver is there
        // before each call of `rustix::net`.
        #[cfg(windows)]
        rustix::net::wsa_startup()?;
        let inner = polling::Poller::new()?;
        let only = match (inner.supports_level(), inner.supports_edge()) {
            (true, true) => asked_for(),
            (true, false) => Some(Trigger::Level),
            (false, true) => Some(Trigger::Edge),
            // Event ports. Every backend of `polling` supports it.
            (false, false) => Some(Trigger::Oneshot),
        };
        Ok(Self { inner, only })
    }

    pub(crate) fn trigger(&self, is_socket: bool) -> Trigger {
        self.only.unwrap_or(Trigger::by_kind(is_socket))
    }

    pub(crate) fn notify(&self) -> io::Result<()> {
        self.inner.notify()
    }

    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        // A deadline beyond the clock's range is none.
        match timeout.and_then(|timeout| time::now().checked_add(timeout)) {
            None => self.inner.wait(&mut events.0, None)?,
            Some(deadline) => self.inner.wait_deadline(&mut events.0, deadline)?,
        };
        Ok(())
    }

    pub(crate) fn add(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()> {
        // SAFETY: Delete rule of `source`, the only caller: it deletes the file before the file is closed.
        unsafe { self.inner.add_with_mode(file.as_raw_fd(), event(watch), mode(watch)) }
    }

    pub(crate) fn modify(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()> {
        self.inner.modify_with_mode(file, event(watch), mode(watch))
    }

    pub(crate) fn delete(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.inner.delete(file)
    }
}

/// The trigger requested by a test, to run on Linux as on a system that offers no other.
fn asked_for() -> Option<Trigger> {
    if !cfg!(brigade_portable) {
        return None;
    }
    match std::env::var("BRIGADE_PORTABLE_TRIGGER").ok()?.as_str() {
        "level" => Some(Trigger::Level),
        "oneshot" => Some(Trigger::Oneshot),
        other => panic!("BRIGADE_PORTABLE_TRIGGER is level or oneshot, not {other}"),
    }
}

fn event(watch: Watch) -> polling::Event {
    polling::Event::new(watch.key, watch.interest.read, watch.interest.write)
}

fn mode(watch: Watch) -> PollMode {
    match watch.trigger {
        Trigger::Edge => PollMode::Edge,
        Trigger::Oneshot => PollMode::Oneshot,
        // Some systems report errors unasked. If there is no interest, they must report those once only.
        Trigger::Level if watch.interest == Interest::NONE => PollMode::Oneshot,
        Trigger::Level => PollMode::Level,
    }
}

/// As `polling` has them.
pub(crate) struct Events(polling::Events);

impl Events {
    pub(crate) fn new() -> Self {
        Self(polling::Events::new())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().map(|event| Event {
            key: event.key,
            ready: Directions { read: event.readable, write: event.writable },
            ended: Directions::default(),
        })
    }
}

#[cfg(all(test, brigade_portable))]
mod tests {
    use super::*;

    /// Else `ci/portable.sh` would run the same tests three times.
    #[test]
    fn a_requested_trigger_is_the_only_one() {
        let poller = Poller::new().unwrap();
        let of_both = [false, true].map(|is_socket| poller.trigger(is_socket));
        assert_eq!(
            of_both,
            match std::env::var("BRIGADE_PORTABLE_TRIGGER").as_deref() {
                Ok("level") => [Trigger::Level; 2],
                Ok("oneshot") => [Trigger::Oneshot; 2],
                _ => [Trigger::Level, Trigger::Edge],
            }
        );
    }
}
