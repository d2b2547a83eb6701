//! Futures on an executor with threads.
//!
//! The handle of a future is a type of async-task, which makes it together with the polling job, which is queued whenever
//! the future has been woken.

use std::future::Future;
use std::sync::Arc;

use async_task::{Runnable, Task};

use super::Shared;
use crate::common::ignored;

impl<K: Send + Sync + 'static> Shared<K> {
    /// Spawns a future, or drops it after a shutdown.
    pub(crate) fn spawn<R: Send + 'static>(
        self: &Arc<Self>,
        future: impl Future<Output = R> + Send + 'static,
    ) -> Task<R> {
        let shared = Arc::clone(self);
        let (runnable, handle) = async_task::spawn(future, move |woken| shared.resume(woken));
        match self.is_closed() {
            true => ignored(),
            false => runnable.schedule(),
        }
        handle
    }

    /// Queues a woken future. After a shutdown too, unless the threads have ended: then it is dropped, and the handle is
    /// told.
    fn resume(&self, woken: Runnable) {
        let poll = self.meter.queued(move || _ = woken.run());
        if self.pool.try_execute(poll).is_err() {
            ignored();
        }
    }
}

/// Implements the spawning of futures on an executor whose field `shared` does it.
macro_rules! futures_executor {
    ([$($generics:tt)*] $executor:ty) => {
        impl $($generics)* $crate::futures_executor::FuturesExecutor for $executor {
            fn spawn<R: Send + 'static>(
                &self,
                future: impl ::std::future::Future<Output = R> + 'static + Send,
            ) -> $crate::futures_executor::JoinHandle<R> {
                self.shared.spawn(future)
            }
        }
    };
}
pub(crate) use futures_executor;
