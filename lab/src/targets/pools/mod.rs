//! The pools under test, and their tables.

mod async_executor;
mod brigade;
mod brigade_executors;
mod executors;
mod futures;
mod rayon;
mod rusty_pools;
mod threadpools;
mod tokio;
mod tokio_blocking;

use self::rusty_pools::{brigade_rusty_pool, rusty_pool};
use self::threadpools::{brigade_threadpool, threadpool};
use crate::target::family;
use crate::target::pool::{self, VisitElastic, VisitPool};

family! {
    /// Thread pools.
    Pools: "pools", VisitPool => pool::offer;
    brigade::DEFAULT,
    brigade::FIFO,
    brigade::LIFO,
    brigade::SHARED,
    brigade::PARK,
    brigade::SPIN_10_US,
    brigade::SPIN,
    brigade::KERNEL,
    brigade::SPREAD,
    brigade::SHARED_KERNEL,
    brigade::SHARED_SPREAD,
    brigade::INTERVAL,
    brigade::BOUNDED,
    brigade::PINNED,
    brigade::NEAREST,
    brigade::HIGH,
    brigade::LOW,
    brigade::NAMED,
    brigade::OBSERVED,
    brigade::OUTCOMES,
    brigade::STALLS,
    brigade::HISTOGRAMS,
    brigade::TRACING,
    brigade::TRACE,
    brigade::ELASTIC,
    brigade::ELASTIC_50,
    executors::CHANNEL,
    executors::STEALING,
    executors::THREADPOOL,
    executors::LOCAL,
    executors::NO_PARK,
    executors::COUNTED,
    brigade_executors::CHANNEL,
    brigade_executors::STEALING,
    brigade_executors::THREADPOOL,
    brigade_executors::LOCAL,
    brigade_executors::NO_PARK,
    brigade_executors::COUNTED,
    rusty_pool::FIXED,
    rusty_pool::ELASTIC,
    rusty_pool::ELASTIC_50,
    brigade_rusty_pool::FIXED,
    brigade_rusty_pool::ELASTIC,
    brigade_rusty_pool::ELASTIC_50,
    threadpool::FIXED,
    brigade_threadpool::FIXED,
    rayon::POOL,
    tokio::RUNTIME,
    async_executor::EXECUTOR,
    futures::POOL,
}

family! {
    /// Thread pools that grow, and shrink when there is nothing to do.
    ElasticPools: "elastic pools, for elastic", VisitElastic => VisitElastic::visit;
    brigade::SIZED,
    brigade::SIZED_FIXED,
    rusty_pool::SIZED,
    brigade_rusty_pool::SIZED,
    threadpool::SIZED,
    brigade_threadpool::SIZED,
    tokio_blocking::SIZED,
}

#[cfg(test)]
mod tests;
