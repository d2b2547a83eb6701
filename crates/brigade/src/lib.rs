//! A thread pool for closures and futures.
//!
//! A [`Pool`] runs closures and futures on its threads, which are started when they are needed. A [`Builder`] configures it:
//! the number of threads is fixed, or grows and shrinks; queues are stealing or shared, last-in-first-out or
//! first-in-first-out. The queue may be bounded, and idle threads sleep or spin. With every configuration:
//!
//! - Every accepted job has exactly one outcome: it returns, panics, or is cancelled; its closure is dropped once. A job that
//!   is not accepted is returned to the caller ([`Rejected`]).
//! - While a job waits and a worker sleeps, one is woken.
//! - A [future](Pool::spawn) is a job as a closure is, with the same handle; it occupies no thread while it waits.
//! - [Time](time) belongs to the pool: its threads run closures and wake futures when they are due, and never early.
//! - A panic ends the job, never the worker's thread; the payload goes to the job's [`JoinHandle`], or to the
//!   pool's [`OnPanic`] policy.
//! - A pool that is dropped runs what it accepted, then joins its threads. Futures that wait then, and timers that are not
//!   due, are cancelled.
//!
//! ```
//! let pool = brigade::Pool::new(4);
//! let six = pool.submit(|| 6);
//! let answer = pool.spawn(async { six.await.unwrap() * 7 });
//! assert_eq!(answer.join()?, 42);
//! # Ok::<(), brigade::JoinError>(())
//! ```
//!
//! | to | closures | futures |
//! |---|---|---|
//! | run | [`execute`](Pool::execute), [`submit`](Pool::submit) for its outcome, [`TaskSet`] for many | [`spawn`](Pool::spawn), [`spawn_local`] on this worker, [`block_on`] on this thread |
//! | wait for a time | [`execute_after`], [`execute_at`], [`execute_every`] | [`time::sleep`], [`time::interval`], [`time::timeout`] |
//! | wait for I/O | [`blocking`], around whatever blocks | `brigade::io` |
//! | let other jobs run | [`blocking`] | [`yield_now`] |
//!
//! # Features
//!
//! Each enables an API and changes nothing else; none is enabled by default.
//!
//! - `io`: the module `brigade::io`, pipes, sockets and other I/O resources; the workers themselves wait for their events.
//! - `futures`: `futures::task::Spawn` for [`Handle`], `Stream` for [`time::Interval`].
//! - `hyper`: `hyper::rt::Executor` for [`Handle`], `brigade::time::HyperTimer`, and with `io` `hyper::rt::{Read, Write}` for
//!   sockets.
// Shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// Each module imports only from those in the lines below it (`ci/imports.sh` checks that):
//
//     task_set   time
//     free
//     spawn
//     io
//     default_pool
//     builder
//     pool
//     submission
//     handle   cancel
//     join
//     abort   awaited   deadlock   blocking   registry
//     engine
//     idle   semaphore   timers
//     metrics   config   rejected   key   job_name   sorted_map

mod abort;
mod awaited;
mod blocking;
mod builder;
mod cancel;
mod config;
mod deadlock;
mod default_pool;
mod engine;
mod free;
mod handle;
mod idle;
#[cfg(feature = "io")]
pub mod io;
mod job_name;
mod join;
mod key;
mod metrics;
mod pool;
mod registry;
mod rejected;
mod semaphore;
mod sorted_map;
mod spawn;
mod submission;
mod task_set;
pub mod time;
mod timers;

pub use abort::AbortHandle;
pub use blocking::blocking;
pub use brigade_sync::thread::{NewThread, Thread};
pub use brigade_task::{JoinError, Panic};
pub use builder::{Builder, ThreadName};
pub use cancel::{CancelOnDrop, cancelled};
pub use config::{
    Growth, Idle, OnPanic, Order, PanicCallback, Placement, Queueing, Report, Shutdown,
    ShutdownOptions, Threads, WhenFull,
};
pub use default_pool::{default_pool, set_default_pool};
pub use free::{
    current_worker_index, execute, job, spawn, submit, try_execute, try_spawn, try_submit,
};
pub use handle::Handle;
pub use job_name::current_job_name;
pub use join::JoinHandle;
pub use metrics::{Metrics, WorkerMetrics};
pub use pool::Pool;
pub use rejected::{Reason, Rejected};
pub use spawn::{YieldNow, block_on, spawn_local, yield_now};
pub use submission::{JobBuilder, Reserved};
pub use task_set::TaskSet;
#[doc(inline)]
pub use time::{
    DelayedJob, Missed, PeriodicJob, Timer, execute_after, execute_at, execute_every, submit_after,
};

/// The examples of the project's README, some of which need I/O.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the chapter about moving from rusty_pool or threadpool.
#[cfg(doctest)]
#[doc = include_str!("../docs/coming-from/rusty-pool.md")]
struct ComingFromRustyPool;

/// The examples of the chapter about threads and tasks, some of which need I/O.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../docs/threads-or-tasks.md")]
struct ThreadsOrTasks;
