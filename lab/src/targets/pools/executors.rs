//! The three pools of the crate executors, with handles cloned into tasks as its own harness does.

use executors::Executor;
use executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
use executors::crossbeam_workstealing_pool::{self as stealing, ThreadPool as StealingPool};
use executors::parker::{DynamicThreadData, LargeThreadData, SmallThreadData, StaticParker};
use executors::threadpool_executor::ThreadPoolExecutor;

use super::{Submit, Target};

/// Any pool of the crate: its handle is the pool, and so are its clones.
pub(crate) struct Pool<E>(E);

/// `crossbeam_channel_pool`.
pub(crate) type Channel = Pool<ChannelPool>;
/// `threadpool_executor`.
pub(crate) type Threadpool = Pool<ThreadPoolExecutor>;
/// `crossbeam_workstealing_pool`, whose parker the number of threads decides.
pub(crate) type Stealing<P> = Pool<StealingPool<P>>;

impl Channel {
    /// Starts a channel pool.
    pub(crate) fn start(threads: usize) -> Self {
        Pool(ChannelPool::new(threads))
    }
}

impl Threadpool {
    /// Starts a threadpool executor.
    pub(crate) fn start(threads: usize) -> Self {
        Pool(ThreadPoolExecutor::new(threads))
    }
}

impl Stealing<StaticParker<SmallThreadData>> {
    /// The most threads this parker knows.
    pub(crate) const MOST: usize = 32;

    /// Starts a pool with the parker for few threads, which is its fastest.
    pub(crate) fn start(threads: usize) -> Self {
        Pool(stealing::small_pool(threads))
    }
}

impl Stealing<StaticParker<LargeThreadData>> {
    /// The most threads this parker knows.
    pub(crate) const MOST: usize = 64;

    /// Starts a pool with the parker for many threads.
    pub(crate) fn start(threads: usize) -> Self {
        Pool(stealing::large_pool(threads))
    }
}

impl Stealing<StaticParker<DynamicThreadData>> {
    /// Starts a pool with the parker for any number of threads.
    pub(crate) fn start(threads: usize) -> Self {
        Pool(stealing::dyn_pool(threads))
    }
}

impl<E: Executor + 'static> Target for Pool<E> {
    type Outside = Shared<E>;
    type Inside = Shared<E>;

    fn outside(&self) -> Shared<E> {
        Shared(self.0.clone())
    }

    fn inside(&self) -> Shared<E> {
        Shared(self.0.clone())
    }

    fn shutdown(self) {
        // It gives up by itself after a few seconds. What it left undone the tally reports.
        drop(self.0.shutdown());
    }
}

/// A clone of the pool's handle.
#[derive(Clone)]
pub(crate) struct Shared<E>(E);

impl<E: Executor + 'static> Submit for Shared<E> {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.0.execute(job);
    }
}
