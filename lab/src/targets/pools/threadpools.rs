//! threadpool, one mutex, one channel, a clone of the pool in every task; and the same interface on brigade, the package of
//! `crates/compat`.

/// A module with the pool of one of the two crates.
macro_rules! pool {
    ($module:ident, $from:ident) => {
        pub(super) mod $module {
            use std::io;

            use ::$from::ThreadPool;

            use crate::target::pool::{Running, submits};

            /// Starts the pool.
            pub(crate) fn start(threads: usize) -> io::Result<Running<ThreadPool, ThreadPool>> {
                let pool = ThreadPool::new(threads);
                Ok(Running::alike(pool.clone(), move || pool.join()))
            }

            submits!(ThreadPool, |pool, job| pool.execute(job));
        }
    };
}

pool!(threadpool, threadpool);
#[cfg(feature = "full")]
pool!(brigade_threadpool, brigade_threadpool);
