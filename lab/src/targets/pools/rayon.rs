//! rayon: a pool of its own, and the free function `spawn` inside it.

use std::io;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::target::pool::{Running, Submit};

/// Starts the pool. It ends with the last owner, without a way to wait for its threads.
pub(super) fn start(threads: usize) -> io::Result<Running<Outside, Inside>> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?;
    Ok(Running::new(Outside(Arc::new(pool)), Inside, || ()))
}

/// The pool, shared by the submitting threads.
#[derive(Clone)]
pub(crate) struct Outside(Arc<ThreadPool>);

impl Submit for Outside {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.0.spawn(job);
    }
}

/// The pool of the current thread.
#[derive(Clone)]
pub(crate) struct Inside;

impl Submit for Inside {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        rayon::spawn(job);
    }
}
