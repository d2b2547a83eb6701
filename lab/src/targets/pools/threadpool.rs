//! threadpool: one mutex, one channel, a clone of the pool in every task.

use threadpool::ThreadPool;

use crate::target::pool::{Pool, Start, StartSized, Submit};
use crate::target::{Entry, Listing};

/// The pool.
pub(crate) const FIXED: Listing<Start<Threadpool>> = Listing {
    entry: Entry::peer("threadpool", "threadpool"),
    start: |threads| Ok(Threadpool(ThreadPool::new(threads))),
};

/// The pool as an elastic one, although it does not grow.
pub(crate) const SIZED: Listing<StartSized<Threadpool>> = Listing {
    entry: Entry::peer("threadpool", "threadpool: always at its largest"),
    start: |size| Ok(Threadpool(ThreadPool::new(size.max))),
};

/// A threadpool.
pub(crate) struct Threadpool(ThreadPool);

impl Pool for Threadpool {
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
