//! rayon: a separate pool, and the free function `spawn` inside it.

use std::io;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::target::pool::{Running, submits};

/// Starts the pool. It ends with the last owner, without a way to wait for the threads.
pub(super) fn start(threads: usize) -> io::Result<Running<Outside, Inside>> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?;
    Ok(Running::new(Outside(Arc::new(pool)), Inside, || ()))
}

/// The pool, shared by the submitting threads.
#[derive(Clone)]
pub(crate) struct Outside(Arc<ThreadPool>);

submits!(Outside, |Outside(pool), job| pool.spawn(job));

/// The pool of the current thread.
#[derive(Clone)]
pub(crate) struct Inside;

submits!(Inside, |_, job| rayon::spawn(job));
