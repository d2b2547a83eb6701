//! The calls of the operating system, and the only unsafe code of the crate.
//!
//! - `poller`: what the driver requires of an operating system: `epoll.rs` on Linux, `portable.rs` elsewhere by the crate
//!   `polling`, and `loom_tests/kernel.rs` under the model checker;
//! - `calls`: the system calls of `epoll.rs`, of which those that wait or may fail are modelled under a seed;
//! - `source`: a value and its registration, and that the second never outlives the first.
//!
//! *Not* `polling` everywhere: its wait makes five system calls on Linux (it sets a timer file, arms it, waits, reads its
//! notifier and arms that). And it requests urgent data with all other data, which by level is then reported at every
//! wait.
//!
//! # The poller
//!
//! A `Poller` is one instance of what waits for many files: an epoll instance, a kqueue. Each of the three has:
//!
//! - `REPORTS_THE_END`: whether the end of a stream, and urgent data in it, are reported beside its readiness. Then they can't
//!   be missed, and by edge a short read or write of a stream proves that the next one would block;
//! - `trigger`: how files of a kind are reported: by the trigger of their kind, if it is offered;
//! - `notify`: ends the present wait, or the next one;
//! - `wait`: waits for at least one event, a notification or the end of the timeout, never less;
//! - `add`: adds a file. It must be deleted before it is closed;
//! - `modify`: changes how a file is watched that has been added. By edge and by oneshot, what is ready now is reported once
//!   more;
//! - `delete`: ends the reports of a file.
//!
//! `Events` is space for the events of one wait, and its `iter` returns those of sources.

#[cfg(all(target_os = "linux", not(brigade_portable), not(brigade_loom)))]
#[cfg_attr(brigade_seeded, path = "calls/seeded.rs")]
#[cfg_attr(not(brigade_seeded), path = "calls/linux.rs")]
mod calls;
#[cfg(brigade_seeded)]
pub use calls::{Faults, begin, changed};

#[cfg_attr(brigade_loom, path = "../loom_tests/kernel.rs")]
#[cfg_attr(all(target_os = "linux", not(brigade_portable), not(brigade_loom)), path = "epoll.rs")]
#[cfg_attr(
    all(any(not(target_os = "linux"), brigade_portable), not(brigade_loom)),
    path = "portable.rs"
)]
mod poller;
pub(crate) use poller::{Events, Poller};

mod source;
pub(crate) use source::{Mode, Owned, Registered, Source, borrow};

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
