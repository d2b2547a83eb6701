//! rusty_pool, held at a fixed size, a clone of the pool in every task.

use std::time::Duration;

use rusty_pool::ThreadPool;

use super::{Submit, Target};

/// A rusty pool.
pub(crate) struct RustyPool(ThreadPool);

/// How long a thread beyond the core size may idle. There is none, so any value does.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

impl RustyPool {
    /// Starts a pool and all its threads, which it would otherwise start as tasks arrive.
    pub(crate) fn start(threads: usize) -> Self {
        let pool = ThreadPool::new(threads, threads, KEEP_ALIVE);
        pool.start_core_threads();
        RustyPool(pool)
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
