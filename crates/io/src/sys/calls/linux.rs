//! The system calls of Linux.

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use crate::event::Trigger;

pub(super) use rustix::event::epoll::{add, delete, modify};
pub(super) use rustix::event::poll;
pub(super) use rustix::io::write;

/// How a file is reported.
pub(super) fn trigger(is_socket: bool) -> Trigger {
    Trigger::by_kind(is_socket)
}

/// Waits for events, which it adds to `events`, as far as there is space.
pub(super) fn wait(
    epoll: &OwnedFd,
    events: &mut Vec<Event>,
    timeout: Option<&Timespec>,
) -> Result<(), Errno> {
    epoll::wait(epoll, spare_capacity(events), timeout)?;
    Ok(())
}
