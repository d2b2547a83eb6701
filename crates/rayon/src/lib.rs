//! The API of [rayon-core](https://docs.rs/rayon-core/1.13) on pools of brigade.
//!
//! A program takes it by a package of three lines and `[patch.crates-io]`, and rayon then runs on brigade without a change. The README has
//! the lines and the differences.
#![forbid(unsafe_code)]

// Each module imports only from those in the lines below it:
//
//     thread_pool
//     scope
//     broadcast   join   spawn   yielding
//     global
//     builder
//     registry
//     error

#[cfg(doctest)]
mod borrows;
mod broadcast;
mod builder;
mod error;
mod global;
mod join;
mod registry;
mod scope;
mod spawn;
mod thread_pool;
mod yielding;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::{ThreadBuilder, ThreadPoolBuilder};
pub use error::ThreadPoolBuildError;
pub use global::current_num_threads;
pub use join::{FnContext, join, join_context};
pub use registry::{current_thread_index, max_num_threads};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::ThreadPool;
pub use yielding::{Yield, current_thread_has_pending_tasks, yield_local, yield_now};
