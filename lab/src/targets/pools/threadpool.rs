//! threadpool: one mutex, one channel, a clone of the pool in every task.

use threadpool::ThreadPool;

use super::{Submit, Target};

/// A threadpool.
pub(crate) struct Threadpool(ThreadPool);

impl Threadpool {
    /// Starts a pool.
    pub(crate) fn start(threads: usize) -> Self {
        Threadpool(ThreadPool::new(threads))
    }
}

impl Target for Threadpool {
    type Outside = ThreadPool;
    type Inside = ThreadPool;

    fn outside(&self) -> ThreadPool {
        self.0.clone()
    }

    fn inside(&self) -> ThreadPool {
        self.0.clone()
    }

    fn shutdown(self) {
        self.0.join();
    }
}

impl Submit for ThreadPool {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.execute(job);
    }
}
