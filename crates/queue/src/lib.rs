//! Queues for a scheduler: bounded work-stealing rings and an unbounded injector.
//!
//! - [`lifo`] and [`fifo`]: a ring of fixed capacity. A single thread pushes and pops; any other thread may steal. The
//!   two differ in the end popped by the owner. [`Either`] chooses between them at run time.
//! - [`deque`]: an unbounded deque whose owner pays for no fence, and whose thieves pay more, for forked work, which the
//!   owner most often takes back.
//! - [`Injector`]: an unbounded queue, in order, for any number of pushing and popping threads. [`ShardedInjector`]:
//!   several of them, for many producers.
//!
//! Nothing here starts a thread. Rings don't allocate after construction; the injector allocates a block when no used block
//! is left. Rings never wait. A pop from an injector may wait for a pusher preempted in the middle, and yields the
//! processor while it waits. Works without `std`: with `default-features = false` a wait only pauses.
//!
//! No user code runs between reading and publishing a position: limits are values, items are only moved, and items are
//! dropped outside.
//!
//! Each module imports only from those below it:
//!
//! ```text
//! deque       owner, thief
//! injector    sharded, pop, push   list   block
//! ring        transfer   owner   thief   drain   shared   positions   order   state, error
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
// Shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

#[cfg(doctest)]
// Each module imports only from those in the lines below it (`ci/imports.sh` checks that):
//
//     auto_traits
//     deque
//     injector
//     ring
mod auto_traits;
#[cfg(feature = "std")]
pub mod deque;
mod injector;
mod ring;

pub use injector::{Cursor, Injector, ShardedInjector};
pub use ring::{Drain, Either, NewError, Order, StealError, Stealer, Worker};

/// Rings whose owner pops the newest item; thieves take the oldest.
pub mod lifo {
    /// The order of these rings.
    pub type Lifo = crate::ring::Lifo;
    /// The owner's end.
    pub type Worker<T> = crate::Worker<T, Lifo>;
    /// A thief's end.
    pub type Stealer<T> = crate::Stealer<T, Lifo>;
    /// The iterator of a drain.
    pub type Drain<'a, T> = crate::Drain<'a, T, Lifo>;
}

/// Rings whose owner pops the oldest item, as thieves do.
pub mod fifo {
    /// The order of these rings.
    pub type Fifo = crate::ring::Fifo;
    /// The owner's end.
    pub type Worker<T> = crate::Worker<T, Fifo>;
    /// A thief's end.
    pub type Stealer<T> = crate::Stealer<T, Fifo>;
    /// The iterator of a drain.
    pub type Drain<'a, T> = crate::Drain<'a, T, Fifo>;
}

/// Tests the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
