//! The API of [st3](https://docs.rs/st3/0.4.1) 0.4 on the rings of brigade-queue.
//!
//! A program takes it by `[patch.crates-io]` or by renaming a dependency, and compiles unchanged. The README has the
//! differences.
//!
//! ```
//! use st3::fifo::Worker;
//!
//! let (busy, idle) = (Worker::new(8), Worker::new(8));
//! busy.extend(["first", "second", "third", "fourth"]);
//! assert_eq!(busy.stealer_ref().steal(&idle, |count| count / 2), Ok(2));
//! assert_eq!((busy.pop(), idle.pop()), (Some("third"), Some("first")));
//! ```
#![no_std]
#![forbid(unsafe_code)]

// Each module imports only from those in the lines below it:
//
//     auto_traits
//     transfer
//     owner
//     thief   drain
//     error

#[cfg(doctest)]
mod auto_traits;
mod drain;
mod error;
mod owner;
mod thief;
mod transfer;

pub use error::StealError;

/// Rings whose owner pops the newest item; thieves take the oldest.
pub mod lifo {
    use brigade_queue::lifo::Lifo;

    /// The owner's end.
    pub type Worker<T> = crate::owner::Worker<T, Lifo>;
    /// A thief's end.
    pub type Stealer<T> = crate::thief::Stealer<T, Lifo>;
    /// The iterator of a drain.
    pub type Drain<'a, T> = crate::drain::Drain<'a, T, Lifo>;
}

/// Rings whose owner pops the oldest item, as thieves do.
pub mod fifo {
    use brigade_queue::fifo::Fifo;

    /// The owner's end.
    pub type Worker<T> = crate::owner::Worker<T, Fifo>;
    /// A thief's end.
    pub type Stealer<T> = crate::thief::Stealer<T, Fifo>;
    /// The iterator of a drain.
    pub type Drain<'a, T> = crate::drain::Drain<'a, T, Fifo>;
}

/// Tests the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
