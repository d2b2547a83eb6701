//! Hands values to threads that wait for them, now or not at all, and wakes all of these threads by one call.
//!
//! For programs in which it is quiet most of the time, then there are several things to do at once, and it matters how
//! soon they begin. A [`Sender`] puts a value into the hands of a [`Receiver`] that waits, or gives it back: nothing
//! is ever queued. [`Sender::wake`] then wakes whoever has been given something, by one system call for 32 receivers,
//! and nobody else.
//!
//! ```
//! let (sender, mut first) = brigade_burst::channel();
//! let mut second = sender.new_receiver();
//! let wait = |receiver: &mut brigade_burst::Receiver<u32>| receiver.recv().unwrap();
//! let total = std::thread::scope(|scope| {
//!     let threads = [scope.spawn(move || wait(&mut first)), scope.spawn(move || wait(&mut second))];
//!     while sender.waiting() < 2 {
//!         std::thread::yield_now();
//!     }
//!     let leftover = sender.burst([1, 2, 3]);
//!     assert!(leftover.eq([3]), "there was nobody for it");
//!     threads.map(|thread| thread.join().unwrap()).iter().sum::<u32>()
//! });
//! assert_eq!(total, 3);
//! ```
//!
//! What this is not: a queue. When all receivers are busy, values come back at once. It starts no thread either.
//!
//! - *Exactly once.* A value goes to one receiver, or comes back to the sender.
//! - *At its own wake.* A value handed over before [`wake`](Sender::wake) is received after it, whoever else wakes.
//! - *No errors that are none.* Signals and early returns of the system are reasons to look again.
//! - *Nothing is lost at the end.* What was handed over is delivered before a receiver hears [`Disconnected`]. What a
//!   dropped receiver leaves goes to another that waits, or back to the sender ([`Sender::take_back`]).
//!
//! A thread that calls `mem::forget` on a receiver costs the channel a seat, and what lies on it.
//!
//! In the child of a `fork` only the thread that forked is there, so a channel has no receivers that could run: make
//! another.
//!
//! The [README](https://docs.rs/crate/brigade-burst) has the protocol, and when not to use this.
#![deny(unsafe_code)]

#[cfg(doctest)]
mod auto_traits;
mod board;
mod error;
mod group;
mod leftover;
mod receiver;
mod sender;
mod shared;
mod slot;

pub use error::{Busy, Disconnected, RecvTimeoutError, TryRecvError};
pub use leftover::Leftover;
pub use receiver::{IntoIter, Iter, Receiver};
pub use sender::Sender;
pub use slot::Slot;

/// Makes a channel with one receiver; [`Sender::new_receiver`] makes more.
///
/// ```
/// let (sender, mut receiver) = brigade_burst::channel();
/// assert!(receiver.try_recv().is_err(), "nothing yet; but from now on it can be handed something");
/// sender.dispatch("work")?;
/// assert_eq!(receiver.try_recv(), Ok("work"));
/// # Ok::<(), brigade_burst::Busy<&str>>(())
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new();
    let receiver = sender.new_receiver();
    (sender, receiver)
}

/// Tests what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Tests what the chapter for those who come from burst-pool shows.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from/burst-pool.md")]
struct ComingFromBurstPool;
