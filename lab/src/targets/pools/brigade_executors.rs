//! The crate executors on brigade: the package of `crates/compat`, as [`executors`](super::executors) beside it.

use brigade_executors::Executor;
use brigade_executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
use brigade_executors::crossbeam_workstealing_pool::{
    ThreadPool as StealingPool, pool_with_auto_parker,
};
use brigade_executors::parker::DynParker;
use brigade_executors::threadpool_executor::ThreadPoolExecutor;

use crate::target::pool::{Cloned, Own, Start, Submit};
use crate::target::{Entry, Listing};

/// `crossbeam_channel_pool`.
pub(crate) const CHANNEL: Listing<Start<Any<ChannelPool>>> = Listing {
    entry: Entry::own("brigade-executors-channel", "executors' channel pool on brigade").further(),
    start: |threads| Ok(Cloned(Shared(ChannelPool::new(threads)))),
};

/// `crossbeam_workstealing_pool`; its parker says nothing but how many threads there may be.
pub(crate) const STEALING: Listing<Start<Any<StealingPool<DynParker>>>> = Listing {
    entry: Entry::own("brigade-executors-ws", "executors' stealing pool on brigade").further(),
    start: |threads| Ok(Cloned(Shared(pool_with_auto_parker(threads)))),
};

/// `threadpool_executor`.
pub(crate) const THREADPOOL: Listing<Start<Any<ThreadPoolExecutor>>> = Listing {
    entry: Entry::own("brigade-executors-tp", "executors' threadpool on brigade").further(),
    start: |threads| Ok(Cloned(Shared(ThreadPoolExecutor::new(threads)))),
};

/// Any pool of the package: its handle is the pool, and so are its clones.
type Any<E> = Cloned<Shared<E>>;

/// A clone of the pool's handle.
#[derive(Clone)]
pub(crate) struct Shared<E>(E);

impl<E: Executor + 'static> Own for Shared<E> {
    fn shutdown(self) {
        // As the original it may give up. The tally reports the tasks that have not run.
        drop(self.0.shutdown());
    }
}

impl<E: Executor + 'static> Submit for Shared<E> {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.0.execute(job);
    }
}
