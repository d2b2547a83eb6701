//! threadpool on brigade: the package of `crates/compat`, as [`threadpool`](super::threadpool) beside it.

use brigade_threadpool::ThreadPool;

use crate::target::pool::{Cloned, Own, Start, StartSized, Submit};
use crate::target::{Entry, Listing};

/// The pool.
pub(crate) const FIXED: Listing<Start<Cloned<ThreadPool>>> = Listing {
    entry: Entry::own("brigade-threadpool", "threadpool's interface on brigade").further(),
    start: |threads| Ok(Cloned(ThreadPool::new(threads))),
};

/// The pool as an elastic one, although it does not grow.
pub(crate) const SIZED: Listing<StartSized<Cloned<ThreadPool>>> = Listing {
    entry: Entry::own("brigade-threadpool", "threadpool's interface on brigade").further(),
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
