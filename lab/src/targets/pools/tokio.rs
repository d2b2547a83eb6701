//! tokio: a multi-thread runtime without drivers, `Handle::spawn` outside, `tokio::spawn` inside.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::target::pool::{Pool, Submit};

/// Starts the runtime with worker threads.
pub(super) fn start(threads: usize) -> io::Result<Tokio> {
    Builder::new_multi_thread().worker_threads(threads).build().map(Tokio)
}

/// A tokio runtime.
pub(crate) struct Tokio(Runtime);

impl Pool for Tokio {
    type Outside = Handle;
    type Inside = Inside;

    fn outside(&self) -> Handle {
        self.0.handle().clone()
    }

    fn inside(&self) -> Inside {
        Inside
    }
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
