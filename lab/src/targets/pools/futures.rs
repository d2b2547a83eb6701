//! futures: its thread pool, `spawn_ok`, a clone of the pool in every task.

use futures::executor::ThreadPool;

use crate::target::pool::{Pool, Start, Submit};
use crate::target::{Entry, Listing};

/// The pool.
pub(crate) const POOL: Listing<Start<Futures>> = Listing {
    entry: Entry::peer("futures-threadpool", "futures: ThreadPool"),
    start: |threads| ThreadPool::builder().pool_size(threads).create().map(Futures),
};

/// A futures pool.
pub(crate) struct Futures(ThreadPool);

impl Pool for Futures {
    type Outside = ThreadPool;
    type Inside = ThreadPool;

    fn outside(&self) -> ThreadPool {
        self.0.clone()
    }

    fn inside(&self) -> ThreadPool {
        self.0.clone()
    }

    fn shutdown(self) {
        // Ends with the last clone, without a way to wait for its threads.
        drop(self.0);
    }
}

impl Submit for ThreadPool {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.spawn_ok(async move { job() });
    }
}
