//! rayon: a pool of its own, and the free function `spawn` inside it.

use std::io;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::target::pool::{Pool, Submit};

/// Starts the pool.
pub(super) fn start(threads: usize) -> io::Result<Rayon> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(|pool| Rayon(Arc::new(pool))).map_err(io::Error::other)
}

/// A rayon pool.
pub(crate) struct Rayon(Arc<ThreadPool>);

impl Pool for Rayon {
    type Outside = Outside;
    type Inside = Inside;

    fn outside(&self) -> Outside {
        Outside(Arc::clone(&self.0))
    }

    fn inside(&self) -> Inside {
        Inside
    }

    // Ends with the last owner, without a way to wait for its threads.
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
