//! The calls of the operating system, and the only unsafe code of the crate.
//!
//! - `backend`: the interface that the driver requires of an operating system. `epoll` implements it on Linux, `portable`
//!   elsewhere by the crate `polling`, and `model` under the model checker;
//! - `calls`: the system calls of `epoll`, of which those that wait or may fail are modelled under a seed;
//! - `source`: a value and its registration, and that the second never outlives the first.
//!
//! *Not* `polling` everywhere: its wait makes five system calls on Linux (it sets a timer file, arms it, waits, reads its
//! notifier and arms that). And it requests urgent data with all other data, which by level is then reported at every
//! wait.

mod backend;
pub(crate) use backend::{Backend, EventBuffer};

#[cfg(all(target_os = "linux", not(brigade_portable), not(brigade_loom)))]
#[cfg_attr(brigade_seeded, path = "calls/seeded.rs")]
#[cfg_attr(not(brigade_seeded), path = "calls/linux.rs")]
mod calls;
#[cfg(brigade_seeded)]
pub use calls::{Faults, begin, changed};

#[cfg(all(target_os = "linux", not(brigade_portable), not(brigade_loom)))]
mod epoll;
#[cfg(all(target_os = "linux", not(brigade_portable), not(brigade_loom)))]
pub(crate) use epoll::Poller;

#[cfg(all(any(not(target_os = "linux"), brigade_portable), not(brigade_loom)))]
mod portable;
#[cfg(all(any(not(target_os = "linux"), brigade_portable), not(brigade_loom)))]
pub(crate) use portable::Poller;

#[cfg(brigade_loom)]
mod model;
#[cfg(brigade_loom)]
pub(crate) use model::Poller;

mod source;
pub(crate) use source::{Mode, Owned, Registered, Source, borrow};

/// The events of one wait.
pub(crate) type Events = <Poller as Backend>::Events;

/// What a driver can wait for: on Unix everything that lends a file descriptor.
///
/// Implemented for every type that can be; there is nothing to implement.
#[cfg(unix)]
pub trait Pollable: std::os::fd::AsFd {}
#[cfg(unix)]
impl<T: std::os::fd::AsFd> Pollable for T {}

/// What a driver can wait for: on Windows everything that lends a socket.
///
/// Implemented for every type that can be; there is nothing to implement.
#[cfg(windows)]
pub trait Pollable: std::os::windows::io::AsSocket {}
#[cfg(windows)]
impl<T: std::os::windows::io::AsSocket> Pollable for T {}
