//! The API of [burst-pool](https://docs.rs/burst-pool/0.5.1) 0.5 on the channel of brigade-burst.
//!
//! A program takes it by `[patch.crates-io]` or by renaming a dependency, and compiles unchanged. The README has the
//! differences.
//!
//! ```
//! use burst_pool::{RecvError, Sender};
//!
//! let mut sender = Sender::new();
//! let mut receiver = sender.mk_receiver();
//! let worker = std::thread::spawn(move || {
//!     let value = receiver.recv().unwrap();
//!     (*value, receiver.recv())
//! });
//! // It is returned until the receiver waits.
//! let mut value = Some(Box::new("work"));
//! while let Some(back) = value.take() {
//!     value = sender.enqueue(back);
//! }
//! sender.wake_all();
//! drop(sender);
//! assert_eq!(worker.join().unwrap(), ("work", Err(RecvError::Orphaned)));
//! ```
#![forbid(unsafe_code)]

// Each module imports only from those in the lines below it:
//
//     auto_traits
//     sender
//     receiver
//     error

#[cfg(doctest)]
mod auto_traits;
mod error;
mod receiver;
mod sender;

pub use error::RecvError;
pub use receiver::Receiver;
pub use sender::Sender;

/// Tests the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
