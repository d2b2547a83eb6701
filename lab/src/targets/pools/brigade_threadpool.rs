//! threadpool on brigade: the package of `crates/compat`, as [`threadpool`](super::threadpool) beside it.

use brigade_threadpool::ThreadPool;

use crate::target::pool::{Pool, Start, StartSized, Submit};
use crate::target::{Entry, Listing};

/// The pool.
pub(crate) const FIXED: Listing<Start<Compat>> = Listing {
    entry: Entry::own("brigade-threadpool", "threadpool's interface on brigade").further(),
    start: |threads| Ok(Compat(ThreadPool::new(threads))),
};

/// The pool as an elastic one, although it does not grow.
pub(crate) const SIZED: Listing<StartSized<Compat>> = Listing {
    entry: Entry::own("brigade-threadpool", "threadpool's interface on brigade").further(),
    start: |size| Ok(Compat(ThreadPool::new(size.max))),
};

/// A threadpool on brigade.
pub(crate) struct Compat(ThreadPool);

impl Pool for Compat {
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
