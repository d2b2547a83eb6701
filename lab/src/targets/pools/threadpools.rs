//! threadpool, a mutex, a channel, a clone of the pool in every task; and the same interface on brigade, the package of
//! `crates/compat`.

use std::io;

use crate::target::pool::{Running, submits};

/// The pool of either crate.
macro_rules! pool {
    ($start:ident) => {
        /// Starts the pool.
        pub(super) fn $start(
            threads: usize,
        ) -> io::Result<Running<::$start::ThreadPool, ::$start::ThreadPool>> {
            let pool = ::$start::ThreadPool::new(threads);
            Ok(Running::alike(pool.clone(), move || pool.join()))
        }

        submits!(::$start::ThreadPool, |pool, job| pool.execute(job));
    };
}

pool!(threadpool);
#[cfg(feature = "full")]
pool!(brigade_threadpool);
