//! rusty_pool, of a fixed size or growing, with a clone of the pool in every task; and the same interface on brigade, the package
//! of `crates/compat`.

use std::io;

use crate::target::pool::{KEEP_ALIVE, Running, Size, submits};

/// The pool of either crate, which is also the handle.
macro_rules! pool {
    ($Pool:ident, $fixed:ident, $sized:ident, $from:ident) => {
        type $Pool = ::$from::ThreadPool;

        /// Starts a pool whose threads are all core threads, and exist from the start.
        pub(super) fn $fixed(threads: usize) -> io::Result<Running<$Pool, $Pool>> {
            let pool = $Pool::new(threads, threads, KEEP_ALIVE);
            pool.start_core_threads();
            Ok(Running::alike(pool.clone(), || pool.shutdown_join()))
        }

        /// Makes a pool that starts threads as tasks arrive.
        pub(super) fn $sized(size: Size) -> io::Result<Running<$Pool, $Pool>> {
            let pool = $Pool::new(size.core, size.max, size.keep_alive);
            Ok(Running::alike(pool.clone(), || pool.shutdown_join()))
        }

        submits!($Pool, |pool, job| pool.execute(job));
    };
}

pool!(RustyPool, fixed, sized, rusty_pool);
#[cfg(feature = "full")]
pool!(OnBrigade, fixed_on_brigade, sized_on_brigade, brigade_rusty_pool);
