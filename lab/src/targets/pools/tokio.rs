//! tokio: a multi-thread runtime without drivers, `Handle::spawn` outside, `tokio::spawn` inside.

use tokio::runtime::{Builder, Handle, Runtime};

use crate::target::pool::{Pool, Start, Submit};
use crate::target::{Entry, Listing};

/// The runtime with worker threads.
pub(crate) const RUNTIME: Listing<Start<Tokio>> = Listing {
    entry: Entry::peer("tokio", "tokio: the multi-thread runtime"),
    start: |threads| Builder::new_multi_thread().worker_threads(threads).build().map(Tokio),
};

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
