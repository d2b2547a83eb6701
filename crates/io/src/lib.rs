#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![doc = include_str!("../README.md")]
// Shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

#[cfg(not(any(unix, windows)))]
compile_error!(
    "brigade-io, the feature `io` of brigade, needs Unix or Windows: this target has no files that a thread can wait for"
);

// From the ground up: a module imports from the groups above the module's group, and from nothing else in the crate.

// The state of a file and of the waiting tasks.
mod error;
mod event;
mod poll_lock;
mod readiness;
mod waiters;
mod wake_flag;

mod state;

#[allow(unsafe_code, reason = "the operating system's part: see the rules of `sys::source`")]
mod sys;

// How a task waits for a source, and how an event reaches it.
mod scratch;
mod table;
mod waiting;

mod ready;

// The driver, and a waiting operation.
mod attempt;
mod driver;

mod addresses;
mod kind;
mod supply;

// The values that a user registers.
mod asynchronous;

mod stream;

#[cfg(feature = "hyper")]
mod hyper;
#[cfg(unix)]
mod pipe;
mod socket;
mod split;

mod tcp;
mod udp;
#[cfg(unix)]
mod unix;

#[cfg(all(test, brigade_loom))]
mod loom_tests;

pub use addresses::ToSocketAddrs;
pub use asynchronous::Async;
pub use driver::Driver;
pub use error::NoDriver;
#[cfg(unix)]
pub use pipe::{PipeReader, PipeWriter, pipe};
pub use ready::Ready;
pub use split::{ReadHalf, WriteHalf};
pub use supply::DriverSupply;
pub use sys::Pollable;
#[cfg(brigade_seeded)]
#[doc(hidden)]
pub use sys::{Faults, begin, changed};
pub use tcp::{TcpListener, TcpStream};
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{UnixListener, UnixStream};
