//! futures: its thread pool, `spawn_ok`, a clone of the pool in every task.

use futures::executor::ThreadPool;

use crate::target::pool::{Cloned, Own, Start, Submit};
use crate::target::{Entry, Listing};

/// The pool.
pub(crate) const POOL: Listing<Start<Cloned<ThreadPool>>> = Listing {
    entry: Entry::peer("futures-threadpool", "futures: ThreadPool"),
    start: |threads| ThreadPool::builder().pool_size(threads).create().map(Cloned),
};

impl Own for ThreadPool {
    // Ends with the last clone, without a way to wait for its threads.
}

impl Submit for ThreadPool {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.spawn_ok(async move { job() });
    }
}
