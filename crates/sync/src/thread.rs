//! Threads, by the names of `std`.

#[cfg(not(brigade_loom))]
pub use std::thread::{
    AccessError, Builder, JoinHandle, LocalKey, ThreadId, available_parallelism, current, panicking,
    sleep, spawn, yield_now,
};

#[cfg(brigade_loom)]
pub use loom::thread::{JoinHandle, spawn, yield_now};
