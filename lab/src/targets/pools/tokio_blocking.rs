//! tokio: `spawn_blocking` on a runtime without worker threads, so that all its threads are those for blocking
//! tasks. It has no core size: all idle threads end.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::target::pool::{Pool, Size, Submit};

/// Starts a runtime with up to this many threads for blocking tasks.
pub(super) fn sized(size: Size) -> io::Result<TokioBlocking> {
    let mut builder = Builder::new_current_thread();
    builder.max_blocking_threads(size.max).thread_keep_alive(size.keep_alive);
    builder.build().map(TokioBlocking)
}

/// A runtime without worker threads.
pub(crate) struct TokioBlocking(Runtime);

impl Pool for TokioBlocking {
    type Outside = Blocking;
    type Inside = Blocking;

    fn outside(&self) -> Blocking {
        Blocking(self.0.handle().clone())
    }

    fn inside(&self) -> Blocking {
        self.outside()
    }

    // Waits for the running tasks, and drops the others, which the tally reports.
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
