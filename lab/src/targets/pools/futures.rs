//! futures: the thread pool, `spawn_ok`, a clone of the pool in every task.

use std::io;

use futures::executor::ThreadPool;

use crate::target::pool::{Running, submits};

/// Starts the pool. It ends with the last clone, without a way to wait for the threads.
pub(super) fn start(threads: usize) -> io::Result<Running<ThreadPool, ThreadPool>> {
    ThreadPool::builder().pool_size(threads).create().map(|pool| Running::alike(pool, || ()))
}

submits!(ThreadPool, |pool, job| pool.spawn_ok(async move { job() }));
