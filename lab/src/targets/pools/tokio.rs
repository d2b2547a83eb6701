//! tokio: a multi-thread runtime without drivers, `Handle::spawn` outside, `tokio::spawn` inside.

use std::io;

use tokio::runtime::{Builder, Handle};

use crate::target::pool::{Running, Submit};

/// Starts the runtime with worker threads.
pub(super) fn start(threads: usize) -> io::Result<Running<Handle, Inside>> {
    let runtime = Builder::new_multi_thread().worker_threads(threads).build()?;
    Ok(Running::new(runtime.handle().clone(), Inside, || drop(runtime)))
}

impl Submit for Handle {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.spawn(async move { job() });
    }
}

/// The runtime of the current thread.
#[derive(Clone)]
pub(crate) struct Inside;

impl Submit for Inside {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        tokio::spawn(async move { job() });
    }
}
