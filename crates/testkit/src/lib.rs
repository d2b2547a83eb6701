//! Types and functions shared by the tests of several brigade crates.
//!
//! - [`test`](macro@test), [`case`], [`Watchdog`] and [`eventually`]: a hanging test fails with its name, a failing case with the
//!   case's, and a test waits for a state, never for a time;
//! - [`stays`]: the claim of an uneventful time;
//! - [`BlockedThread`]: a thread for a test that waits until it blocks;
//! - [`Gate`], [`Halt`], [`Latch`], [`Meeting`]: the test decides when a thread or a future continues;
//! - [`Drops`], [`Bomb`], [`OnDrop`]: captures that are counted, panic or call when they are dropped;
//! - [`at_exit`]: a call when a thread ends;
//! - [`Seed`]: random numbers whose seed is printed;
//! - [`WakeCounter`], [`on_wake`], [`poll_once`] and [`block_on`]: a waker to count or call, and a future on the test's own thread;
//! - [`panics`]: expected panics stay out of the output;
//! - `hold_threads_up`, on Linux: threads stop for a while at random places;
//! - [`Observed`]: the system's allocator, counted or limited;
//! - [`this_program`]: what ends or changes the whole process is tried in another;
//! - `resources` and `syscalls`, on Linux: the threads, files and memory of the process, and the system calls of a thread, counted by the
//!   kernel.
//!
//! It depends on no pool and no queue, so every crate of the workspace may use it in its tests.
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

mod blocked;
mod captures;
mod cases;
mod gate;
mod halt;
#[cfg(target_os = "linux")]
mod hold_ups;
mod latch;
mod meeting;
mod observed;
pub mod panics;
#[cfg(target_os = "linux")]
pub mod resources;
mod seed;
#[cfg(target_os = "linux")]
pub mod syscalls;
mod this_program;
mod waker;
mod watchdog;

pub use blocked::BlockedThread;
pub use brigade_testkit_macros::test;
pub use captures::{Bomb, Drops, OnDrop, Token, at_exit};
pub use cases::case;
pub use gate::Gate;
pub use halt::Halt;
#[cfg(target_os = "linux")]
pub use hold_ups::hold_threads_up;
pub use latch::Latch;
pub use meeting::Meeting;
pub use observed::Observed;
pub use seed::Seed;
pub use this_program::this_program;
pub use waker::{WakeCounter, block_on, on_wake, poll_once};
pub use watchdog::{Watchdog, eventually, spin_for, stays};
