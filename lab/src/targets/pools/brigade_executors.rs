//! The crate executors on brigade: the package of `crates/compat`, as [`executors`](super::executors) beside it.

use std::io::{self, ErrorKind};

use brigade_executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
use brigade_executors::crossbeam_workstealing_pool::{
    ThreadPool as StealingPool, pool_with_auto_parker, small_pool,
};
use brigade_executors::parker::{DynParker, SmallThreadData, StaticParker};
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
pub(crate) const STEALING: Listing<Start<Auto>> = Listing {
    entry: Entry::own("brigade-executors-ws", "executors' stealing pool on brigade").further(),
    start: auto,
};

/// `threadpool_executor`.
pub(crate) const THREADPOOL: Listing<Start<Any<ThreadPoolExecutor>>> = Listing {
    entry: Entry::own("brigade-executors-tp", "executors' threadpool on brigade").further(),
    start: |threads| Ok(any(ThreadPoolExecutor::new(threads))),
};

/// `crossbeam_workstealing_pool`, whose tasks spawn by `try_execute_locally`. For up to 32 threads.
pub(crate) const LOCAL: Listing<Start<Local<Small>>> = Listing {
    entry: Entry::own("brigade-executors-local", "that, tasks by try_execute_locally").further(),
    start: |threads| match threads {
        0..=32 => Ok(Local(small_pool(threads))),
        _ => Err(io::Error::new(ErrorKind::Unsupported, "it has at most 32 threads here")),
    },
};

/// `crossbeam_workstealing_pool` with the feature `ws-no-park`, built with `executors-no-park`.
pub(crate) const NO_PARK: Listing<Start<Auto>> = Listing {
    entry: Entry::own("brigade-executors-no-park", "brigade-executors-ws with ws-no-park")
        .elsewhere("brigade-lab-executors-no-park", "brigade-executors-ws"),
    start: auto,
};

/// `crossbeam_workstealing_pool` without the feature `ws-timed-fairness`, built with `executors-counted`.
pub(crate) const COUNTED: Listing<Start<Auto>> = Listing {
    entry: Entry::own(
        "brigade-executors-counted",
        "brigade-executors-ws without ws-timed-fairness",
    )
    .elsewhere("brigade-lab-executors-counted", "brigade-executors-ws"),
    start: auto,
};

/// The stealing pool.
type Auto = Any<StealingPool<DynParker>>;

/// Starts the stealing pool.
fn auto(threads: usize) -> io::Result<Auto> {
    Ok(any(pool_with_auto_parker(threads)))
}

/// The stealing pool with its smallest parker.
type Small = StealingPool<StaticParker<SmallThreadData>>;

shared!(brigade_executors);
