//! The pools under test, each in the idiom its own documentation offers.
//!
//! A target says how a thread outside submits and how a task submits from inside; both are generic,
//! so that the compiler sees through them as it would in a user's program. Targets know nothing of
//! workloads.

mod async_executor;
mod brigade;
mod executors;
mod futures;
mod rayon;
mod rusty_pool;
mod threadpool;
mod tokio;

use std::time::Duration;

pub(crate) use self::async_executor::AsyncExecutor;
pub(crate) use self::brigade::{Brigade, Policy};
pub(crate) use self::executors::{Channel, Stealing, Threadpool as ExecutorsThreadpool};
pub(crate) use self::futures::Futures;
pub(crate) use self::rayon::Rayon;
pub(crate) use self::rusty_pool::RustyPool;
pub(crate) use self::threadpool::Threadpool;
pub(crate) use self::tokio::Tokio;

/// A way to submit jobs to one pool.
pub(crate) trait Submit: Clone + Send + 'static {
    /// Submits `job`. A pool that drops it instead is found out by the tally.
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F);
}

/// A running pool.
pub(crate) trait Target: 'static {
    /// How a thread that is no worker of the pool submits.
    type Outside: Submit;
    /// How a task submits from inside the pool; every task carries one.
    type Inside: Submit;

    /// A submitter for threads outside.
    fn outside(&self) -> Self::Outside;

    /// A submitter for tasks.
    fn inside(&self) -> Self::Inside;

    /// Ends the pool, as well as it can be ended, after it has run what it has.
    fn shutdown(self);
}

/// Core threads of the pools called `-50`: fewer than most workloads ask for.
pub(crate) const FEW: usize = 2;
/// Threads that those pools may have, unless a workload asks for more.
pub(crate) const MANY: usize = 50;
/// How long a thread beyond the core size may idle in a pool that is not told: longer than any run.
/// brigade's own number and rusty_pool's.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Which pool it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// brigade in one of its configurations.
    Brigade(Policy),
    /// `executors::crossbeam_channel_pool`.
    ExecutorsChannel,
    /// `executors::crossbeam_workstealing_pool`.
    ExecutorsStealing,
    /// `executors::threadpool_executor`.
    ExecutorsThreadpool,
    /// `rusty_pool::ThreadPool`, all of whose threads are core threads, and there from the start.
    RustyPool,
    /// The same, and not one thread is there before there is work for it.
    RustyPoolElastic,
    /// `rusty_pool::ThreadPool` of [`FEW`] core threads and [`MANY`] in all.
    RustyPool50,
    /// `threadpool::ThreadPool`.
    Threadpool,
    /// `rayon::ThreadPool`.
    Rayon,
    /// tokio's multi-thread runtime.
    Tokio,
    /// `async_executor::StaticExecutor`.
    AsyncExecutor,
    /// `futures::executor::ThreadPool`.
    Futures,
}

#[cfg(test)]
mod tests;
