//! tokio: a multi-thread runtime without drivers, `Handle::spawn` outside, `tokio::spawn` inside.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

use super::{Submit, Target};

/// A tokio runtime.
pub(crate) struct Tokio(Runtime);

impl Tokio {
    /// Starts a runtime.
    pub(crate) fn start(threads: usize) -> io::Result<Self> {
        Builder::new_multi_thread().worker_threads(threads).build().map(Tokio)
    }
}

impl Target for Tokio {
    type Outside = Handle;
    type Inside = Inside;

    fn outside(&self) -> Handle {
        self.0.handle().clone()
    }

    fn inside(&self) -> Inside {
        Inside
    }

    fn shutdown(self) {
        drop(self.0);
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
