//! rusty_pool, of a fixed size or growing, with a clone of the pool in every task; and the same interface on brigade, the package
//! of `crates/compat`.

/// A module with the pool of one of the two crates.
macro_rules! pool {
    ($module:ident, $from:ident) => {
        pub(super) mod $module {
            use std::io;

            use ::$from::ThreadPool;

            use crate::target::pool::{KEEP_ALIVE, Running, Size, submits};

            /// A pool, which is its own handle.
            type Pool = Running<ThreadPool, ThreadPool>;

            /// Starts a pool whose threads are all core threads, and exist from the start.
            pub(crate) fn fixed(threads: usize) -> io::Result<Pool> {
                let pool = ThreadPool::new(threads, threads, KEEP_ALIVE);
                pool.start_core_threads();
                Ok(Running::alike(pool.clone(), || pool.shutdown_join()))
            }

            /// Makes a pool that starts its threads as tasks arrive.
            pub(crate) fn sized(size: Size) -> io::Result<Pool> {
                let pool = ThreadPool::new(size.core, size.max, size.keep_alive);
                Ok(Running::alike(pool.clone(), || pool.shutdown_join()))
            }

            submits!(ThreadPool, |pool, job| pool.execute(job));
        }
    };
}

pool!(rusty_pool, rusty_pool);
#[cfg(feature = "full")]
pool!(brigade_rusty_pool, brigade_rusty_pool);
