//! threadpool: one mutex, one channel, a clone of the pool in every task.

use threadpool::ThreadPool;

use crate::target::pool::{Cloned, Own, Start, StartSized, Submit};
use crate::target::{Entry, Listing};

/// The pool.
pub(crate) const FIXED: Listing<Start<Cloned<ThreadPool>>> = Listing {
    entry: Entry::peer("threadpool", "threadpool"),
    start: |threads| Ok(Cloned(ThreadPool::new(threads))),
};

/// The pool as an elastic one, although it does not grow.
pub(crate) const SIZED: Listing<StartSized<Cloned<ThreadPool>>> = Listing {
    entry: Entry::peer("threadpool", "threadpool: always at its largest"),
    start: |size| Ok(Cloned(ThreadPool::new(size.max))),
};

impl Own for ThreadPool {
    fn shutdown(self) {
        self.join();
    }
}

impl Submit for ThreadPool {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.execute(job);
    }
}
