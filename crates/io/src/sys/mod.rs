//! What the operating system does for the driver. The only place of this crate with unsafe code.
//!
//! - `source`: a value and its registration, and that the second never outlives the first;
//! - `epoll`: waiting on Linux; `portable`: waiting elsewhere, by the crate `polling`; `model`: waiting under the
//!   model checker. All offer the same names: `Poller`, `Events`.
//!
//! Why not `polling` everywhere: its wait makes five system calls on Linux (it sets a timer file, arms it, waits,
//! reads its bell and arms that), and it asks for urgent data with all other, which a level-triggered driver then hears of
//! for ever.

#[cfg(all(target_os = "linux", not(brigade_portable), not(brigade_loom)))]
mod epoll;
#[cfg(all(target_os = "linux", not(brigade_portable), not(brigade_loom)))]
pub(crate) use epoll::{Events, Poller};

#[cfg(all(any(not(target_os = "linux"), brigade_portable), not(brigade_loom)))]
mod portable;
#[cfg(all(any(not(target_os = "linux"), brigade_portable), not(brigade_loom)))]
pub(crate) use portable::{Events, Poller};

#[cfg(brigade_loom)]
mod model;
#[cfg(brigade_loom)]
pub(crate) use model::{Events, Poller};

mod source;
pub(crate) use source::{Line, Owned, Source, borrow};

/// What a driver can wait for: on Unix whatever lends a file descriptor.
///
/// Implemented for every type that can be; there is nothing to implement.
#[cfg(unix)]
pub trait Pollable: std::os::fd::AsFd {}
#[cfg(unix)]
impl<T: std::os::fd::AsFd> Pollable for T {}

/// What a driver can wait for: on Windows whatever lends a socket.
///
/// Implemented for every type that can be; there is nothing to implement.
#[cfg(windows)]
pub trait Pollable: std::os::windows::io::AsSocket {}
#[cfg(windows)]
impl<T: std::os::windows::io::AsSocket> Pollable for T {}

/// What is asked of the operating system about one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interest {
    /// Bytes to read, a connection to accept, or the end of them.
    pub(crate) read: bool,
    /// Room to write, a connection made, or the end of it.
    pub(crate) write: bool,
}

impl Interest {
    /// Nothing.
    pub(crate) const NONE: Self = Self { read: false, write: false };
    /// Both.
    pub(crate) const ALL: Self = Self { read: true, write: true };
}

/// What the operating system says about one source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// What the source was added with.
    pub(crate) key: usize,
    /// Whether a read would not block.
    pub(crate) read: bool,
    /// Whether a write would not block.
    pub(crate) write: bool,
    /// Nothing comes after what there is to read now.
    pub(crate) read_ended: bool,
    /// Nothing more can be written.
    pub(crate) write_ended: bool,
}
