//! The calls of the operating system, and the only unsafe code of the crate.
//!
//! - `poller`: the requirements of the driver on an operating system: `epoll.rs` on Linux, `portable.rs` elsewhere by the
//!   crate `polling`, and `loom_tests/kernel.rs` under the model checker;
//! - `calls`: the system calls of `epoll.rs`, some of them modelled under a seed: the calls that wait or may fail;
//! - `source`: a value and its registration, where the second never outlives the first.
//!
//! *Not* `polling` everywhere: its wait makes five system calls on Linux (it sets a timer file, arms it, waits, reads the
//! notifier and arms it). And it requests urgent data with all other data, which by level is then reported at every
//! wait.
//!
//! # The poller
//!
//! A `Poller` waits for many files: it is an epoll instance, or a kqueue. Each of the three has:
//!
//! - `REPORTS_THE_END`: whether the end of a stream, and urgent data in it, are reported beside readiness. Then they can't be
//!   missed, and by edge a short read or write of a stream proves that the next would block;
//! - `trigger`: how files of a kind are reported: by the trigger of their kind, if it is offered;
//! - `notify`: ends the present wait, or the next;
//! - `wait`: waits for at least one event, a notification or the end of the timeout, never less;
//! - `add`: adds a file. It must be deleted before it is closed;
//! - `modify`: changes how an added file is watched. By edge and by oneshot, present readiness is reported once
//!   more;
//! - `delete`: ends the reports of a file.
//!
//! `Events` is space for the events of a wait, and `iter` returns the events of sources.

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

/// A value a driver can wait for: on Unix everything that lends a file descriptor.
///
/// Implemented for every possible type; there is nothing to implement.
#[cfg(unix)]
pub trait Pollable: std::os::fd::AsFd {}
#[cfg(unix)]
impl<T: std::os::fd::AsFd> Pollable for T {}

/// A value a driver can wait for: on Windows everything that lends a socket.
///
/// Implemented for every possible type; there is nothing to implement.
#[cfg(windows)]
pub trait Pollable: std::os::windows::io::AsSocket {}
#[cfg(windows)]
impl<T: std::os::windows::io::AsSocket> Pollable for T {}
