//! Queues for a scheduler: bounded stealing rings and an unbounded injector.
//!
//! - [`lifo`] and [`fifo`]: a ring of fixed size that one thread pushes to and pops from and that any
//!   other may steal from. The two differ in which end the owner pops.
//! - [`Injector`]: an unbounded queue that any thread pushes to and pops from, in order;
//!   [`ShardedInjector`]: several of them, for many producers.
//!
//! Nothing here starts a thread, and rings don't allocate after construction (the injector allocates a block now and
//! then when none is there to be used again). Rings never wait; who pops from an injector may wait for a pusher that
//! lost the processor in the middle, and gives its own away. Works without `std`: with `default-features = false`
//! waiting is only pausing.
//!
//! No user code ever runs between reading and publishing a position: limits are values, items are
//! only moved, and what is dropped is dropped outside.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

#[cfg(doctest)]
mod auto_traits;
mod injector;
mod ring;

pub use injector::{Cursor, Injector, ShardedInjector};
pub use ring::{Drain, IntoIter, Limit, NewError, Order, StealError, Stealer, Worker};

/// Rings whose owner pops what it pushed last; thieves take the oldest.
pub mod lifo {
    /// The order of these rings.
    pub type Lifo = crate::ring::Lifo;
    /// The owner's end.
    pub type Worker<T> = crate::Worker<T, Lifo>;
    /// A thief's end.
    pub type Stealer<T> = crate::Stealer<T, Lifo>;
    /// What an owner drains.
    pub type Drain<'a, T> = crate::Drain<'a, T, Lifo>;
}

/// Rings whose owner pops the oldest, as thieves do.
pub mod fifo {
    /// The order of these rings.
    pub type Fifo = crate::ring::Fifo;
    /// The owner's end.
    pub type Worker<T> = crate::Worker<T, Fifo>;
    /// A thief's end.
    pub type Stealer<T> = crate::Stealer<T, Fifo>;
    /// What an owner drains.
    pub type Drain<'a, T> = crate::Drain<'a, T, Fifo>;
}

/// Tests what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
