//! The crate executors on brigade: the package of `crates/compat`, as [`executors`](super::executors) beside it.

use brigade_executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
use brigade_executors::crossbeam_workstealing_pool::{
    ThreadPool as StealingPool, pool_with_auto_parker,
};
use brigade_executors::parker::DynParker;
use brigade_executors::threadpool_executor::ThreadPoolExecutor;

use super::executors::shared;
use crate::target::pool::Start;
use crate::target::{Entry, Listing};

/// `crossbeam_channel_pool`.
pub(crate) const CHANNEL: Listing<Start<Any<ChannelPool>>> = Listing {
    entry: Entry::own("brigade-executors-channel", "executors' channel pool on brigade").further(),
    start: |threads| Ok(any(ChannelPool::new(threads))),
};

/// `crossbeam_workstealing_pool`; its parker says nothing but how many threads there may be.
pub(crate) const STEALING: Listing<Start<Any<StealingPool<DynParker>>>> = Listing {
    entry: Entry::own("brigade-executors-ws", "executors' stealing pool on brigade").further(),
    start: |threads| Ok(any(pool_with_auto_parker(threads))),
};

/// `threadpool_executor`.
pub(crate) const THREADPOOL: Listing<Start<Any<ThreadPoolExecutor>>> = Listing {
    entry: Entry::own("brigade-executors-tp", "executors' threadpool on brigade").further(),
    start: |threads| Ok(any(ThreadPoolExecutor::new(threads))),
};

shared!(brigade_executors);
