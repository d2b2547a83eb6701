//! The three pools of the crate executors, with handles cloned into tasks as its own harness does.

use executors::Executor;
use executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
use executors::crossbeam_workstealing_pool as stealing;
use executors::threadpool_executor::ThreadPoolExecutor;

use crate::target::pool::{Offer, Pool, Start, Submit, VisitPool};
use crate::target::{Entry, Listing};

/// `crossbeam_channel_pool`.
pub(crate) const CHANNEL: Listing<Start<Any<ChannelPool>>> = Listing {
    entry: Entry::peer("executors-channel", "executors: crossbeam_channel_pool"),
    start: |threads| Ok(Any(ChannelPool::new(threads))),
};

/// `crossbeam_workstealing_pool`; the number of threads decides its parker.
pub(crate) const STEALING: Listing<ByThreads> = Listing {
    entry: Entry::peer("executors-stealing", "executors: crossbeam_workstealing_pool"),
    start: ByThreads,
};

/// `threadpool_executor`.
pub(crate) const THREADPOOL: Listing<Start<Any<ThreadPoolExecutor>>> = Listing {
    entry: Entry::peer("executors-threadpool", "executors: threadpool_executor"),
    start: |threads| Ok(Any(ThreadPoolExecutor::new(threads))),
};

/// Starts the stealing pool with the fastest parker that supports this many threads.
#[derive(Clone, Copy)]
pub(crate) struct ByThreads;

impl Offer for ByThreads {
    fn offer<V: VisitPool>(self, visitor: V) -> V::Output {
        match visitor.threads() {
            0..=32 => visitor.visit(|threads| Ok(Any(stealing::small_pool(threads)))),
            33..=64 => visitor.visit(|threads| Ok(Any(stealing::large_pool(threads)))),
            _ => visitor.visit(|threads| Ok(Any(stealing::dyn_pool(threads)))),
        }
    }
}

/// Any pool of the crate: its handle is the pool, and so are its clones.
pub(crate) struct Any<E>(E);

impl<E: Executor + 'static> Pool for Any<E> {
    type Outside = Shared<E>;
    type Inside = Shared<E>;

    fn outside(&self) -> Shared<E> {
        Shared(self.0.clone())
    }

    fn inside(&self) -> Shared<E> {
        Shared(self.0.clone())
    }

    fn shutdown(self) {
        // It gives up by itself after a few seconds. The tally reports the tasks that did not run.
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
