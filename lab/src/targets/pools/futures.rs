//! futures: its thread pool, `spawn_ok`, a clone of the pool in every task.

use std::io;

use futures::executor::ThreadPool;

use crate::target::pool::{Cloned, Own, Submit};

/// Starts the pool.
pub(super) fn start(threads: usize) -> io::Result<Cloned<ThreadPool>> {
    ThreadPool::builder().pool_size(threads).create().map(Cloned)
}

impl Own for ThreadPool {
    // Ends with the last clone, without a way to wait for its threads.
}

impl Submit for ThreadPool {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.spawn_ok(async move { job() });
    }
}
