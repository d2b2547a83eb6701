//! Hands values to waiting threads, or returns them, and wakes all of these threads with a single system call.
//!
//! For programs that are idle most of the time and then have several things to do at once, with low latency. A [`Sender`]
//! hands a value to a waiting [`Receiver`], or returns it: values are never queued. [`Sender::wake`] then wakes the receivers
//! of these values, with a system call for 32 of them, and no others.
//!
//! ```
//! let (sender, mut first) = brigade_burst::channel();
//! let mut second = sender.new_receiver();
//! let total = std::thread::scope(|scope| {
//!     let threads = [scope.spawn(move || first.recv()), scope.spawn(move || second.recv())];
//!     while sender.waiting() < 2 {
//!         std::thread::yield_now();
//!     }
//!     let leftover = sender.burst([1, 2, 3]);
//!     assert!(leftover.eq([3]), "no receiver waited for it");
//!     threads.into_iter().map(|thread| thread.join().unwrap()).sum::<Result<u32, _>>()
//! })?;
//! assert_eq!(total, 3);
//! # Ok::<(), brigade_burst::Disconnected>(())
//! ```
//!
//! It is not a queue: when all receivers are busy, values are returned at once. It starts no threads.
//!
//! - *Exactly once.* A value goes to a single receiver, or is returned to the sender.
//! - *Its own wake is enough.* A value handed over before [`wake`](Sender::wake) is received after it, whichever other
//!   threads wake.
//! - *Spurious wake-ups are not errors.* After a signal or an early return of the system call a receiver looks again.
//! - *No value is lost at the end.* Handed-over values are delivered before a receiver returns [`Disconnected`]. The value
//!   of a dropped receiver goes to another waiting receiver, or back to the sender ([`Sender::take_back`]).
//!
//! `mem::forget` of a receiver leaks its seat and the value there.
//!
//! In the child of a `fork` only the forking thread exists, so the receivers of other threads never run: create a new
//! channel there.
//!
//! The [README](https://docs.rs/crate/brigade-burst) describes the protocol, and when not to use this crate.
//!
//! Each module imports only from those below it:
//!
//! ```text
//! sender
//! receiver
//! shared
//! group
//! state   slot   cursor   policy   error
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(unsafe_code)]

#[cfg(doctest)]
mod auto_traits;
mod cursor;
mod error;
mod group;
mod policy;
mod receiver;
mod sender;
mod shared;
mod slot;
mod state;

pub use error::{Busy, Disconnected, RecvTimeoutError, TryRecvError};
pub use policy::{Delivery, Turns};
pub use receiver::Receiver;
pub use sender::{Leftover, Sender};

/// Creates a channel with a single receiver; [`Sender::new_receiver`] creates more.
///
/// [`Sender::new`] creates a channel without receivers, and [`Sender::with`] a channel with other turns or another delivery.
///
/// ```
/// let (sender, mut receiver) = brigade_burst::channel();
/// assert!(receiver.try_recv().is_err(), "no value yet, but it waits for one from now on");
/// sender.dispatch("work")?;
/// assert_eq!(receiver.try_recv(), Ok("work"));
/// # Ok::<(), brigade_burst::Busy<&str>>(())
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new();
    let receiver = sender.new_receiver();
    (sender, receiver)
}

/// Tests the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
