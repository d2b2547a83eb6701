//! async-executor: a leaked static executor, which its documentation prefers for speed, run by
//! threads that block on it until they are told to stop.

use std::io;
use std::thread::{self, JoinHandle};

use async_executor::{Executor, StaticExecutor};
use futures::channel::oneshot::{self, Sender};
use futures::future::FutureExt;
use futures_lite::future::block_on;

use crate::target::pool::{Pool, Submit};

/// An executor and its threads.
pub(crate) struct AsyncExecutor {
    /// What the threads run.
    executor: &'static StaticExecutor,
    /// Dropped to tell the threads to stop.
    stop: Sender<()>,
    /// The threads.
    threads: Vec<JoinHandle<()>>,
}

impl AsyncExecutor {
    /// Starts the threads.
    pub(super) fn start(threads: usize) -> io::Result<Self> {
        let executor = Executor::new().leak();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = stopped.shared();
        let threads = (0..threads).map(|_| {
            let stopped = stopped.clone();
            thread::Builder::new().spawn(move || {
                // Told to stop by the sender's end, which counts as an error.
                let _ = block_on(executor.run(stopped));
            })
        });
        Ok(AsyncExecutor { executor, stop, threads: threads.collect::<io::Result<_>>()? })
    }
}

impl Pool for AsyncExecutor {
    type Outside = Shared;
    type Inside = Shared;

    fn outside(&self) -> Shared {
        Shared(self.executor)
    }

    fn inside(&self) -> Shared {
        Shared(self.executor)
    }

    fn shutdown(self) {
        drop(self.stop);
        for thread in self.threads {
            // A thread that panicked lost a task, which the tally reports.
            drop(thread.join());
        }
    }
}

/// The shared executor.
#[derive(Clone, Copy)]
pub(crate) struct Shared(&'static StaticExecutor);

impl Submit for Shared {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.0.spawn(async move { job() }).detach();
    }
}
