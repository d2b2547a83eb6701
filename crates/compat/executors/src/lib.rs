//! The API of [executors](https://docs.rs/executors/0.10.0) on pools of brigade.
//!
//! A program takes it by `[patch.crates-io]`, or under another name by `package = "executors"` and a path, and compiles
//! unchanged. The README has the differences.
//!
//! Every executor is an [`Executor`], and executors of futures are a [`FuturesExecutor`]. Clones are the same executor.
//!
//! | module | runs jobs |
//! |---|---|
//! | [`crossbeam_workstealing_pool`] | on threads with a queue each, from which idle threads steal |
//! | [`crossbeam_channel_pool`] | on threads with a single queue, in the order of submission |
//! | [`threadpool_executor`] | the same, without futures |
//! | [`run_now`] | at once, on the calling thread |
//!
//! ```
//! # #[cfg(feature = "workstealing-exec")] {
//! use executors::crossbeam_workstealing_pool;
//! use executors::*;
//! use std::sync::mpsc::channel;
//!
//! let pool = crossbeam_workstealing_pool::small_pool(4);
//! let (sender, receiver) = channel();
//! for number in 1..=8 {
//!     let sender = sender.clone();
//!     pool.execute(move || sender.send(number).unwrap());
//! }
//! assert_eq!(receiver.iter().take(8).sum::<i32>(), 36);
//! pool.shutdown().expect("its jobs end");
//! # }
//! ```
//!
//! # Features
//!
//! - `workstealing-exec`, `cb-channel-exec`, `threadpool-exec` (default): the modules above.
//! - `defaults` (default): `Default` for the executors, with as many threads as the process may run at once.
//! - `ws-timed-fairness` (default): has no effect: a work-stealing worker with jobs in its queue always looks for jobs from
//!   outside after about 100 µs.
//! - `ws-no-park`: work-stealing workers never sleep. The lowest latency, at the cost of a whole core for each.
//! - `thread-pinning`: each thread of a pool is pinned to a core as long as there are any; `with_affinity` names the cores.
//! - `numa-aware`: `with_numa_affinity` and `numa_utils`: distances between cores.
//! - `produce-metrics`: `executors.jobs_executed` and `executors.jobs_queued` for the recorder installed by the program with the
//!   crate `metrics`. Each job then looks up its counters, which takes longer than to run a short job.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(
        feature = "cb-channel-exec",
        feature = "threadpool-exec",
        feature = "workstealing-exec"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

// Each module imports only from those in the lines below it:
//
//     crossbeam_channel_pool   crossbeam_workstealing_pool   threadpool_executor
//     shared   locals
//     futures_executor   run_now
//     common
//     bichannel   metered   numa_utils   parker   pins

pub mod bichannel;
pub mod common;
#[cfg(feature = "cb-channel-exec")]
pub mod crossbeam_channel_pool;
#[cfg(feature = "workstealing-exec")]
pub mod crossbeam_workstealing_pool;
#[cfg(any(feature = "cb-channel-exec", feature = "workstealing-exec"))]
pub mod futures_executor;
mod locals;
#[cfg_attr(not(feature = "produce-metrics"), path = "metered/none.rs")]
#[allow(dead_code, reason = "which executors there are, depends on features")]
mod metered;
#[cfg(feature = "numa-aware")]
pub mod numa_utils;
pub mod parker;
#[cfg(any(feature = "cb-channel-exec", feature = "workstealing-exec"))]
#[cfg_attr(not(feature = "thread-pinning"), path = "pins/none.rs")]
mod pins;
pub mod run_now;
#[cfg(any(
    feature = "cb-channel-exec",
    feature = "threadpool-exec",
    feature = "workstealing-exec"
))]
mod shared;
#[cfg(feature = "threadpool-exec")]
pub mod threadpool_executor;

pub use common::{CanExecute, Executor};
#[cfg(any(feature = "cb-channel-exec", feature = "workstealing-exec"))]
pub use futures_executor::{FuturesExecutor, JoinHandle};
pub use locals::try_execute_locally;

/// The example of the README.
#[cfg(all(doctest, feature = "workstealing-exec"))]
#[doc = include_str!("../README.md")]
struct Readme;
