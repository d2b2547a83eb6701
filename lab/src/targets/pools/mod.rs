//! The pools under test, and their tables.

mod async_executor;
mod brigade;
#[cfg(feature = "full")]
mod brigade_executors;
mod executors;
mod futures;
mod rayon;
mod rusty_pools;
mod threadpools;
mod tokio;
mod tokio_blocking;

#[cfg(feature = "full")]
use self::rusty_pools::brigade_rusty_pool;
use self::rusty_pools::rusty_pool;
#[cfg(feature = "full")]
use self::threadpools::brigade_threadpool;
use self::threadpools::threadpool;
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
    #[cfg(feature = "full")] brigade::HISTOGRAMS,
    #[cfg(feature = "full")] brigade::TRACING,
    brigade::TRACE,
    brigade::ELASTIC,
    brigade::ELASTIC_50,
    executors::CHANNEL,
    executors::STEALING,
    executors::THREADPOOL,
    executors::LOCAL,
    executors::NO_PARK,
    executors::COUNTED,
    #[cfg(feature = "full")] brigade_executors::CHANNEL,
    #[cfg(feature = "full")] brigade_executors::STEALING,
    #[cfg(feature = "full")] brigade_executors::THREADPOOL,
    #[cfg(feature = "full")] brigade_executors::LOCAL,
    #[cfg(feature = "full")] brigade_executors::NO_PARK,
    #[cfg(feature = "full")] brigade_executors::COUNTED,
    rusty_pool::FIXED,
    rusty_pool::ELASTIC,
    rusty_pool::ELASTIC_50,
    #[cfg(feature = "full")] brigade_rusty_pool::FIXED,
    #[cfg(feature = "full")] brigade_rusty_pool::ELASTIC,
    #[cfg(feature = "full")] brigade_rusty_pool::ELASTIC_50,
    threadpool::FIXED,
    #[cfg(feature = "full")] brigade_threadpool::FIXED,
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
    #[cfg(feature = "full")] brigade_rusty_pool::SIZED,
    threadpool::SIZED,
    #[cfg(feature = "full")] brigade_threadpool::SIZED,
    tokio_blocking::SIZED,
}

#[cfg(test)]
mod tests;
