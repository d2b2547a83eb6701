//! rusty_pool, held at a fixed size or left to grow, a clone of the pool in every task.

use rusty_pool::ThreadPool;

use super::{FEW, KEEP_ALIVE, MANY, Submit, Target};
use crate::targets::elastic::Size;

/// A rusty pool.
pub(crate) struct RustyPool(ThreadPool);

impl RustyPool {
    /// Starts a pool and all its threads, which it would otherwise start as tasks arrive.
    pub(crate) fn start(threads: usize) -> Self {
        let pool = ThreadPool::new(threads, threads, KEEP_ALIVE);
        pool.start_core_threads();
        RustyPool(pool)
    }

    /// Makes a pool of so many threads, which it starts as tasks arrive.
    pub(crate) fn lazy(threads: usize) -> Self {
        Self::elastic(Size { core: threads, max: threads, keep_alive: KEEP_ALIVE })
    }

    /// Makes a pool of [`FEW`] threads to [`MANY`], or to `threads` if that is more.
    pub(crate) fn few_to_many(threads: usize) -> Self {
        Self::elastic(Size { core: FEW, max: threads.max(MANY), keep_alive: KEEP_ALIVE })
    }

    /// Makes a pool that starts its threads as tasks arrive.
    pub(crate) fn elastic(size: Size) -> Self {
        RustyPool(ThreadPool::new(size.core, size.max, size.keep_alive))
    }
}

impl Target for RustyPool {
    type Outside = ThreadPool;
    type Inside = ThreadPool;

    fn outside(&self) -> ThreadPool {
        self.0.clone()
    }

    fn inside(&self) -> ThreadPool {
        self.0.clone()
    }

    fn shutdown(self) {
        self.0.shutdown_join();
    }
}

impl Submit for ThreadPool {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.execute(job);
    }
}
