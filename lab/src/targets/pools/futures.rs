//! futures: its thread pool, `spawn_ok`, a clone of the pool in every task.

use std::io;

use futures::executor::ThreadPool;

use super::{Submit, Target};

/// A futures pool.
pub(crate) struct Futures(ThreadPool);

impl Futures {
    /// Starts a pool.
    pub(crate) fn start(threads: usize) -> io::Result<Self> {
        ThreadPool::builder().pool_size(threads).create().map(Futures)
    }
}

impl Target for Futures {
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
