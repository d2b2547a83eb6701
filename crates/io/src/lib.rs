#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod asynchronous;
mod attempt;
mod bell;
mod driver;
mod error;
mod habit;
#[cfg(feature = "hyper")]
mod hyper;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
#[cfg(unix)]
mod pipe;
mod readiness;
mod ready;
mod room;
mod stream;
mod supply;
#[allow(unsafe_code, reason = "the operating system's part: see the rules of `sys::source`")]
mod sys;
mod table;
mod tcp;
mod turn;
mod udp;
#[cfg(unix)]
mod unix;
mod waiters;
mod waiting;

pub use asynchronous::Async;
pub use driver::{Driver, Trigger};
pub use error::NoDriver;
#[cfg(unix)]
pub use pipe::{PipeReader, PipeWriter, pipe};
pub use ready::Ready;
pub use supply::DriverSupply;
pub use sys::Pollable;
pub use tcp::{TcpIncoming, TcpListener, TcpStream};
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{UnixIncoming, UnixListener, UnixStream};
