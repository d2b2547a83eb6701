//! threadpool, one mutex, one channel, a clone of the pool in every task; and the same interface on brigade, the package of
//! `crates/compat`.

use crate::target::pool::{Cloned, Own, Start, StartSized, Submit};
use crate::target::{Class, Entry, Listing};

/// A module with the configurations of one of the two crates: the pool, and the pool as an elastic one, although it does not grow.
macro_rules! configurations {
    ($module:ident, $from:ident, [$fixed:expr, $sized:expr]) => {
        pub(super) mod $module {
            use super::*;
            use ::$from::ThreadPool;

            /// The pool.
            pub(crate) const FIXED: Listing<Start<Cloned<ThreadPool>>> =
                Listing { entry: $fixed, start: |threads| Ok(Cloned(ThreadPool::new(threads))) };

            /// The pool as an elastic one.
            pub(crate) const SIZED: Listing<StartSized<Cloned<ThreadPool>>> =
                Listing { entry: $sized, start: |size| Ok(Cloned(ThreadPool::new(size.max))) };

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
        }
    };
}

configurations!(
    threadpool,
    threadpool,
    [
        Entry::peer("threadpool", "threadpool"),
        Entry::peer("threadpool", "threadpool: always at its largest").of(Class::Ready)
    ]
);

#[cfg(feature = "full")]
configurations!(
    brigade_threadpool,
    brigade_threadpool,
    [
        Entry::own("brigade-threadpool", "threadpool's interface on brigade").further(),
        Entry::own("brigade-threadpool", "threadpool's interface on brigade").further()
    ]
);
