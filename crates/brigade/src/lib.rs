//! A thread pool for closures, borrowing jobs, futures, timers and socket I/O.
//!
//! ```sh
//! cargo add brigade                    # closures, futures, timers
//! cargo add brigade --features io      # and TCP, UDP, Unix sockets, pipes, files
//! ```
//!
//! ```
//! let pool = brigade::Pool::new(4);
//! let six = pool.submit(|| 6); // a closure
//! let answer = pool.spawn(async { six.await.map(|six| six * 7) }); // a future
//! assert_eq!(answer.join()??, 42);
//! # Ok::<(), brigade::JoinError>(())
//! ```
//!
//! A [`Pool`] runs closures and futures on its threads, and its idle threads drive timers and I/O. A [`Builder`]
//! configures the pool: the number of threads is fixed, or grows and shrinks; queues are stealing or shared,
//! last-in-first-out or first-in-first-out, bounded or not; idle threads sleep or spin. Every pool guarantees:
//!
//! - An accepted job has exactly one outcome: it returns, panics, or is cancelled; its closure is dropped once. A
//!   rejected job is returned to the caller ([`Rejected`]).
//! - If a job is queued and a worker sleeps, a worker is woken.
//! - A [future](Handle::spawn) is a job like a closure, with the same [`JoinHandle`]; it occupies no thread while it
//!   waits.
//! - [Timers](time) never fire early, and need no thread of their own.
//! - A panic ends the job, never the worker's thread; the payload goes to the job's [`JoinHandle`], or to the pool's
//!   [`OnPanic`] policy.
//! - Dropping a pool runs the accepted jobs, then joins the threads. Pending futures and timers are cancelled;
//!   [`Shutdown::Finish`] waits for them too.
//!
#![cfg_attr(
    doc,
    doc = "The [`guide`] has one line for each task in [choosing](guide::choosing), and chapters on [threads or \
tasks](guide::threads_or_tasks), [shutting down](guide::shutting_down), [libraries](guide::libraries), [traces](guide::traces) and [crates that \
work with this one](guide::works_with).\n\n"
)]
//! Use something else if you want parallel iterators and nothing else ([rayon], or the feature `orx-parallel`), if
//! your dependencies need tokio's reactor ([tokio]; for a few of them, [async-compat]), or if you start a thread now
//! and then ([`std::thread`]).
//!
//! [rayon]: https://docs.rs/rayon
//! [tokio]: https://docs.rs/tokio
//! [async-compat]: https://docs.rs/async-compat
//!
//! # Quick start
//!
//! **Closures.** [`execute`](Handle::execute) runs a closure, and [`submit`](Handle::submit) returns a [`JoinHandle`]
//! for its outcome. A job that submits more jobs takes a [`Handle`], which is `Copy`, or calls a free function such
//! as [`submit()`]:
//!
//! ```
//! let pool = brigade::Pool::new(4);
//! pool.execute(|| println!("fire and forget"));
//! let sum = pool.submit(|| brigade::submit(|| 40).join().map(|part| part + 2));
//! assert_eq!(sum.join()??, 42);
//! # Ok::<(), brigade::JoinError>(())
//! ```
//!
//! **Borrowing.** [`join`](join()), [`scope`](scope()) and the loops ([`par_for`], [`map_reduce`]) take closures that
//! borrow from the caller's stack:
//!
//! ```
//! let mut numbers = vec![5, 3, 8, 1];
//! let (left, right) = numbers.split_at_mut(2);
//! brigade::join(|| left.sort(), || right.sort());
//! assert_eq!(numbers, [3, 5, 1, 8]);
//! ```
//!
//! **Futures.** [`spawn`](Handle::spawn) runs a future on the pool, and [`block_on`](Handle::block_on) on this
//! thread:
//!
//! ```
//! let pool = brigade::Pool::new(2);
//! let answer = pool.block_on(async { brigade::spawn(async { 6 * 7 }).await })?;
//! assert_eq!(answer, 42);
//! # Ok::<(), brigade::JoinError>(())
//! ```
//!
//! **Timers.** [`time`] has `sleep`, `timeout` and `interval` for futures. [`after`](JobBuilder::after) and
//! [`every`](JobBuilder::every) are for closures:
//!
//! ```
//! use std::time::Duration;
//! let pool = brigade::Pool::new(1);
//! let late = pool.job().after(Duration::from_millis(1)).submit(|| "late")?;
//! assert_eq!(late.join()?, "late");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
#![cfg_attr(
    feature = "io",
    doc = "**I/O.** [`brigade::io`](io), with the feature `io`, has sockets, pipes and files, with an example of each."
)]
#![cfg_attr(
    not(feature = "io"),
    doc = "**I/O.** `brigade::io`, with the feature `io`, has sockets, pipes and files, with an example of each."
)]
//!
//! **Bounded pools.** With a [capacity](Builder::capacity), submitting blocks while the queue is full, unless the
//! pool has a different policy ([`WhenFull`]). The [`try_`](Handle::try_execute) methods never wait, and return the
//! job:
//!
//! ```
//! let pool = brigade::Pool::builder().threads(2).capacity(100).build()?;
//! pool.try_execute(|| println!("there was room"))?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! **Cancellation.** [`cancel`](JoinHandle::cancel) ends a job that has not started, or a pending future. A running
//! closure can check [`cancelled`]. Dropping a [`TaskSet`] cancels its jobs:
//!
//! ```
//! let pool = brigade::Pool::new(1);
//! let waits = pool.spawn(std::future::pending::<()>());
//! assert!(waits.cancel());
//! assert!(waits.join().is_err_and(|error| error.is_cancelled()));
//! ```
//!
//! **Shutdown.** Dropping the pool waits for its jobs. [`shutdown`](Handle::shutdown) waits in a [way](Shutdown) of
//! your choice, with a timeout, and reports the outcomes of the jobs:
//!
//! ```
//! use brigade::{Pool, Shutdown};
//! use std::time::Duration;
//! let pool = Pool::new(2);
//! pool.execute(|| println!("runs before the end"));
//! let report = pool.shutdown(Shutdown::Finish.timeout(Duration::from_secs(10)));
//! assert_eq!((report.ran, report.discarded, report.still_running), (1, 0, 0));
//! ```
//!
//! # What to use
//!
//! | you want to | write |
//! |---|---|
//! | run a closure | [`pool.execute(\|\| …)`](Handle::execute), [`submit`](Handle::submit) for its result |
//! | run a future | [`pool.spawn(async { … })`](Handle::spawn), [`block_on`](Handle::block_on) on this thread |
//! | borrow from this thread's stack | [`join(a, b)`](join()), [`scope(\|s\| …)`](scope()), [`pool.install(\|\| …)`](Handle::install) |
//! | run a loop in parallel | [`par_for`], [`par_chunks_mut`], [`par_map`], [`map_reduce`] |
//! | map an iterator | [`pool.map(iter, window, f)`](Handle::map) |
//! | run many jobs, at most `n` at once | [`TaskSet`] |
//! | submit from a job, a library, another thread | [`Handle`], which is `Copy`; or [`execute()`], [`submit()`], [`spawn()`] |
//! | wait, or run a closure later | [`time`], [`execute_after`], [`execute_every`] |
//! | set a deadline, a priority or a name, pass [values](inherited()) down, wait for room | [`pool.job()`](Handle::job) |
//! | run code that blocks | [`blocking`] |
//! | cancel | [`JoinHandle::cancel`], [`CancelHandle`], [`cancelled`]; why: [`Cause`] |
//!
//!
//! # Platforms
//!
//! Tested on Linux with 64 and 32 bits, on ARM64 under qemu, and on Windows under Wine; compiled for macOS, FreeBSD and, without `io`, wasm,
//! where jobs run [in the waits of their submitters](Builder::without_threads). Pins, nice values and limits of cgroups exist on Linux only; forks, pipes and Unix sockets on Unix.
//! Targets without 64-bit atomics need the feature `portable-atomic`.
//!
//! # Features
//!
//! Features only add APIs and targets; `observe` alone is enabled by default.
//!
#![cfg_attr(
    feature = "affinity",
    doc = "- `affinity`: [`Builder::pin`] and [`Builder::victims`]: the CPUs of the workers, and the order in which they try their peers."
)]
#![cfg_attr(
    not(feature = "affinity"),
    doc = "- `affinity`: `Builder::pin` and `Builder::victims`: the CPUs of the workers, and the order in which they try their peers."
)]
#![cfg_attr(feature = "io", doc = "- `io`: the module [`brigade::io`](io):")]
#![cfg_attr(not(feature = "io"), doc = "- `io`: the module `brigade::io`:")]
//!   TCP, UDP and Unix sockets, pipes, and any other file descriptor; idle workers wait for their events.
//! - `executor`: `brigade_executor::{Executor, Spawner, LocalSpawner}` for [`Handle`] and [`Pool`]: the traits of
//!   libraries that accept any executor.
//! - `futures`: `futures::task::Spawn` for [`Handle`] and [`Pool`], `LocalSpawn` for [`LocalPool`], `Stream` for [`TaskSet`] and
//!   [`time::Interval`], `FusedFuture` for [`JoinHandle`] and [`time::Sleep`].
#![cfg_attr(feature = "hyper", doc = "- `hyper`: [`brigade::time::HyperTimer`](time::HyperTimer),")]
#![cfg_attr(not(feature = "hyper"), doc = "- `hyper`: `brigade::time::HyperTimer`,")]
//!   `hyper::rt::Executor` for [`Handle`], and with `io` `hyper::rt::{Read, Write}` for sockets.
//! - `orx-parallel`: `orx_parallel::ThreadPool` for [`Pool`] and [`Handle`], for the parallel iterators of that
//!   crate, which needs Rust 1.88.
//! - `macros`: `#[brigade::main]` and `#[brigade::test]`.
#![cfg_attr(
    feature = "test-util",
    doc = "- `test-util`: [`LocalPool::paused`] and [`time::advance`], a virtual clock for tests."
)]
#![cfg_attr(
    not(feature = "test-util"),
    doc = "- `test-util`: `LocalPool::paused` and `time::advance`, a virtual clock for tests."
)]
#![cfg_attr(
    feature = "histograms",
    doc = "- `histograms`: [`Builder::histograms`], how long jobs wait and run."
)]
#![cfg_attr(
    not(feature = "histograms"),
    doc = "- `histograms`: `Builder::histograms`, how long jobs wait and run."
)]
#![cfg_attr(
    feature = "observe",
    doc = "- `observe`, enabled by default: [`Builder::observe_jobs`], hooks for the ends and the stalls of jobs, and [`Handle::dump`]."
)]
#![cfg_attr(
    not(feature = "observe"),
    doc = "- `observe`, enabled by default: `Builder::observe_jobs`, hooks for the ends and the stalls of jobs, and `Handle::dump`."
)]
#![cfg_attr(
    feature = "metrics",
    doc = "- `metrics`: [`MetricsExporter`], the counters of a pool for the facade of the crate `metrics`."
)]
#![cfg_attr(
    not(feature = "metrics"),
    doc = "- `metrics`: `MetricsExporter`, the counters of a pool for the facade of the crate `metrics`."
)]
#![cfg_attr(
    feature = "trace",
    doc = "- `trace`: [`Handle::start_trace`], what each thread did and when, for [ui.perfetto.dev](https://ui.perfetto.dev)."
)]
#![cfg_attr(
    not(feature = "trace"),
    doc = "- `trace`: `Handle::start_trace`, what each thread did and when, for [ui.perfetto.dev](https://ui.perfetto.dev)."
)]
#![cfg_attr(
    feature = "tracing",
    doc = "- `tracing`: [`Builder::trace_jobs`], a span for each job, a child of its submitter's, and tokio-console."
)]
#![cfg_attr(
    not(feature = "tracing"),
    doc = "- `tracing`: `Builder::trace_jobs`, a span for each job, a child of its submitter's, and tokio-console."
)]
//! - `sim`: with `--cfg brigade_seeded` the module `brigade::sim`, which runs tests on threads that obey a seed.
//! - `portable-atomic`: targets without 64-bit atomics, through the crate `portable-atomic`, which uses a lock.
//!
//! # Numbers
//!
//! The README of the repository compares brigade with about twenty other pools; `cargo run --release` there repeats
//! the measurement.
//!
#![cfg_attr(
    doc,
    doc = "# Coming from another crate\n\n\
- [rayon](guide::coming_from_rayon)\n\
- [tokio](guide::coming_from_tokio), and [beside tokio](guide::beside_tokio)\n\
- [smol and async-io](guide::coming_from_smol)\n\
- [rusty_pool and threadpool](guide::coming_from_rusty_pool)\n\
- [executors](guide::coming_from_executors)\n\
- [crossbeam-deque and st3](guide::coming_from_st3_and_crossbeam)\n\
- [burst-pool](guide::coming_from_burst_pool)\n\
- [context-switch](guide::coming_from_context_switch)"
)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

// Each module imports only from those in the lines below it (`ci/imports.sh` checks that):
//
//     absent
//     guide
//     integrations
//     sim
//     task_set
//     time   limited
//     fork
//     spawn
//     io
//     pool
//     submission
//     handle
//     engine
//     values

// The documentation lists the methods of a type in the order of their modules: the most used methods come first.
mod submission;

mod spawn;

mod handle;

mod absent;
mod engine;
mod fork;
// The guide is text: its examples need these features, but readers need none.
#[cfg(all(
    doc,
    any(
        not(doctest),
        all(
            feature = "affinity",
            feature = "executor",
            feature = "futures",
            feature = "hyper",
            feature = "io",
            feature = "test-util",
            feature = "trace"
        )
    )
))]
#[cfg_attr(docsrs, doc(auto_cfg = false))]
pub mod guide;
mod integrations;
#[cfg(feature = "io")]
#[doc(alias = "net")]
pub mod io;
mod limited;
mod pool;
#[cfg(brigade_seeded)]
pub mod sim;
mod task_set;
pub mod time;
mod values;

#[cfg(feature = "affinity")]
#[doc(inline)]
pub use brigade_machine::{Cpus, Victims};
#[cfg(feature = "macros")]
pub use brigade_macros::{main, test};
#[cfg(feature = "observe")]
#[doc(inline)]
pub use brigade_observe::{
    Awaits, Dump, End, JobDump, JobLabel, Outcome, Stall, ThreadState, WaitDump, WaitingJob,
    WorkerDump,
};
#[cfg(feature = "histograms")]
#[doc(inline)]
pub use brigade_observe::{Histograms, Times};
/// For packages with the API of another pool: the default number of threads of a pool built here.
#[doc(hidden)]
pub use brigade_sync::thread::parallelism as default_threads;
pub use brigade_sync::thread::{NewThread, Thread};
pub use brigade_task::{Callable, Cause, Causes, JoinError, Panic, Spawnable};
#[cfg(feature = "trace")]
#[doc(inline)]
pub use brigade_trace::{Trace, TraceError};
pub use fork::{
    ParItems, Scope, ScopedJoinHandle, in_place_scope, join, map_reduce, par_chunks,
    par_chunks_mut, par_for, par_for_with, par_map, scope, try_par_for,
};
#[cfg(feature = "trace")]
pub use handle::Tracing;
pub use handle::{CancelHandle, Handle, JoinHandle, cancelled};
#[cfg(feature = "metrics")]
pub use integrations::MetricsExporter;
#[cfg(feature = "orx-parallel")]
pub use integrations::OrxScope;
#[cfg(feature = "unstable-foreign")]
#[doc(hidden)]
pub use integrations::foreign;
// Of this name rustc alone suggests `JobBuilder`.
#[doc(hidden)]
#[deprecated(note = "here this is `Pool::builder()`")]
pub type PoolBuilder = Builder;
pub use limited::Limited;
pub use pool::{
    Builder, Pool, ThreadName, blocking, current_priority, current_worker, current_worker_index,
    default_pool, execute, job, set_default_pool, spawn, submit, try_execute, try_execute_locally,
    try_spawn, try_submit,
};
pub use spawn::{LocalPool, YieldNow, block_on, spawn_local, yield_now};
pub use submission::{JobBuilder, JobOnWorker, Reserved, current_job_name, inherited};
pub use task_set::{Map, MapError, MapUnordered, SetJob, TaskSet};
#[doc(inline)]
pub use time::{
    DelayedJob, Missed, PeriodicJob, Timer, execute_after, execute_at, execute_every, submit_after,
};
#[doc(no_inline)]
pub use time::{interval, sleep, timeout};
pub use values::{
    Growth, Idle, Metrics, OnPanic, Order, PanicCallback, Placement, Priority, Queueing, Reason,
    Rejected, Report, Role, Shutdown, ShutdownOptions, Threads, WhenFull, WorkerInfo,
    WorkerMetrics,
};

/// The examples of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
