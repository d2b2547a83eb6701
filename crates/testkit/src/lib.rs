//! What the tests of several brigade crates share.
//!
//! - [`test`](macro@test), [`Watchdog`] and [`eventually`]: a test that hangs fails with its name, and a test waits for a state, never for a
//!   time;
//! - [`stays`]: that nothing happens, which no event announces;
//! - [`BlockedThread`]: a thread of which a test wants to know that it blocks;
//! - [`Gate`], [`Latch`], [`Meeting`]: the test decides when a thread or a future continues;
//! - [`Drops`], [`Bomb`], [`OnDrop`]: captures that are counted, panic or call when they are dropped;
//! - [`at_exit`]: a call when a thread ends;
//! - [`Seed`]: random numbers whose seed is printed;
//! - [`WakeCounter`], [`on_wake`], [`poll_once`] and [`block_on`]: a waker that counts or calls, and a future on the test's own thread;
//! - [`panics`]: expected panics stay out of the output;
//! - [`Observed`]: the system's allocator, counted or limited;
//! - `syscalls`, on Linux: the system calls of one thread, counted by the kernel.
//!
//! It depends on no pool and no queue, so every crate of the workspace may use it in its tests.
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

mod blocked;
mod captures;
mod gate;
mod latch;
mod meeting;
mod observed;
pub mod panics;
mod seed;
#[cfg(target_os = "linux")]
pub mod syscalls;
mod waker;
mod watchdog;

pub use blocked::BlockedThread;
pub use brigade_testkit_macros::test;
pub use captures::{Bomb, Drops, OnDrop, Token, at_exit};
pub use gate::Gate;
pub use latch::Latch;
pub use meeting::Meeting;
pub use observed::Observed;
pub use seed::Seed;
pub use waker::{WakeCounter, block_on, on_wake, poll_once};
pub use watchdog::{Watchdog, eventually, spin_for, stays};
