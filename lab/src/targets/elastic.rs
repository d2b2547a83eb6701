//! The pools under test that grow, and shrink when there is nothing to do.
//!
//! They are pools as others are, and submitted to as others are; only their size is told otherwise.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use super::pools::{Submit, Target};

/// How large a pool may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Threads that stay.
    pub(crate) core: usize,
    /// Threads in all.
    pub(crate) max: usize,
    /// How long a thread stays idle that need not stay.
    pub(crate) keep_alive: Duration,
}

/// Which elastic pool it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElasticKind {
    /// brigade, with its default configuration otherwise.
    Brigade,
    /// `rusty_pool::ThreadPool`.
    RustyPool,
    /// `threadpool::ThreadPool`, which isn't elastic and has all its threads all the time.
    Threadpool,
    /// The threads that `tokio::task::spawn_blocking` runs on.
    TokioBlocking,
}

/// A tokio runtime without worker threads, so that all its threads are those for blocking tasks.
///
/// It knows no core size: idle threads end, all of them.
pub(crate) struct TokioBlocking(Runtime);

impl TokioBlocking {
    /// Makes a runtime.
    pub(crate) fn start(size: Size) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        builder.max_blocking_threads(size.max).thread_keep_alive(size.keep_alive);
        builder.build().map(TokioBlocking)
    }
}

impl Target for TokioBlocking {
    type Outside = Blocking;
    type Inside = Blocking;

    fn outside(&self) -> Blocking {
        Blocking(self.0.handle().clone())
    }

    fn inside(&self) -> Blocking {
        self.outside()
    }

    fn shutdown(self) {
        // Waits for the tasks that run, and drops those that don't, which the tally reports.
        drop(self.0);
    }
}

/// The runtime's handle.
#[derive(Clone)]
pub(crate) struct Blocking(Handle);

impl Submit for Blocking {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        drop(self.0.spawn_blocking(job));
    }
}
