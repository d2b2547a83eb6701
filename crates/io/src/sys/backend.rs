//! The interface that the driver requires of an operating system.

use std::io;
use std::time::Duration;

use rustix::fd::BorrowedFd;

use crate::event::{Event, Trigger, Watch};

/// One instance of what waits for many files: an epoll instance, a kqueue.
pub(crate) trait Backend: Sized {
    /// The events of one wait.
    type Events: EventBuffer;

    /// Whether the end of a stream, and urgent data in it, are reported beside its readiness. Then they can't be missed, and by
    /// edge a short read or write of a stream proves that the next one would block.
    const REPORTS_THE_END: bool;

    /// # Errors
    /// That of the system.
    fn new() -> io::Result<Self>;

    /// How files of a kind are reported: the trigger of their kind, if it is offered.
    fn trigger(&self, is_socket: bool) -> Trigger {
        Trigger::by_kind(is_socket)
    }

    /// Ends the present wait, or the next one.
    fn notify(&self) -> io::Result<()>;

    /// Waits for at least one event, a notification or the end of `timeout`, never less.
    fn wait(&self, events: &mut Self::Events, timeout: Option<Duration>) -> io::Result<()>;

    /// Adds a file. It must be [deleted](Self::delete) before it is closed.
    fn add(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()>;

    /// Changes how a file is watched that has been added. By edge and by oneshot, what is ready now is reported once more.
    fn modify(&self, file: BorrowedFd<'_>, watch: Watch) -> io::Result<()>;

    /// Ends the reports of a file.
    fn delete(&self, file: BorrowedFd<'_>) -> io::Result<()>;
}

/// Space for the events of one wait.
pub(crate) trait EventBuffer {
    fn new() -> Self;

    /// The events of sources.
    fn iter(&self) -> impl Iterator<Item = Event> + '_;
}
