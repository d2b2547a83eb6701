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

/// Which pool a target is.
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
    /// `rusty_pool::ThreadPool`.
    RustyPool,
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

/// A target as the command line knows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What `--target` calls it.
    pub(crate) name: &'static str,
    /// What it is, in a line.
    pub(crate) about: &'static str,
    /// Which pool that is.
    pub(crate) kind: Kind,
}

impl Entry {
    /// Whether others compare themselves with it: everything but brigade.
    pub(crate) fn is_peer(&self) -> bool {
        !matches!(self.kind, Kind::Brigade(_))
    }

    /// Whether it takes part when `--target` is not given.
    pub(crate) fn is_default(&self) -> bool {
        self.is_peer() || self.kind == Kind::Brigade(Policy::Default)
    }

    /// The target with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Entry> {
        ALL.iter().find(|entry| entry.name == name)
    }
}

/// One line of the table below.
const fn entry(name: &'static str, kind: Kind, about: &'static str) -> Entry {
    Entry { name, about, kind }
}

/// Every target there is.
pub(crate) static ALL: &[Entry] = &[
    entry("brigade", Kind::Brigade(Policy::Default), "the default pool"),
    entry("brigade-fifo", Kind::Brigade(Policy::Fifo), "local queues oldest first"),
    entry("brigade-lifo", Kind::Brigade(Policy::Lifo), "local queues newest first"),
    entry("brigade-shared", Kind::Brigade(Policy::Shared), "one shared queue"),
    entry("brigade-park", Kind::Brigade(Policy::Park), "idle workers park at once"),
    entry(
        "brigade-spin10us",
        Kind::Brigade(Policy::Spin10us),
        "idle workers spin 10 µs, then park",
    ),
    entry("brigade-spin", Kind::Brigade(Policy::Spin), "idle workers never park"),
    entry("brigade-kernel", Kind::Brigade(Policy::Kernel), "the kernel places woken workers"),
    entry(
        "brigade-spread",
        Kind::Brigade(Policy::Spread),
        "woken workers are spread over the CPUs",
    ),
    entry("executors-channel", Kind::ExecutorsChannel, "executors: crossbeam_channel_pool"),
    entry("executors-stealing", Kind::ExecutorsStealing, "executors: crossbeam_workstealing_pool"),
    entry("executors-threadpool", Kind::ExecutorsThreadpool, "executors: threadpool_executor"),
    entry("rusty_pool", Kind::RustyPool, "rusty_pool: core size and maximum alike"),
    entry("threadpool", Kind::Threadpool, "threadpool"),
    entry("rayon", Kind::Rayon, "rayon: spawn in a pool of its own"),
    entry("tokio", Kind::Tokio, "tokio: the multi-thread runtime"),
    entry(
        "async-executor",
        Kind::AsyncExecutor,
        "async-executor: a static executor, run by threads",
    ),
    entry("futures-threadpool", Kind::Futures, "futures: ThreadPool"),
];

#[cfg(test)]
mod tests {
    use super::ALL;
    use std::collections::HashSet;

    #[test]
    fn every_target_has_a_name_and_a_kind_of_its_own() {
        let names: HashSet<_> = ALL.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ALL.len());
        for (index, entry) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.kind != entry.kind), "{}", entry.name);
        }
    }
}
