//! async-executor: a leaked static executor, preferred for speed by the documentation, run by
//! threads that block on it until they are told to stop.

use std::io;
use std::thread;

use async_executor::{Executor, StaticExecutor};
use futures::channel::oneshot;
use futures::future::FutureExt;
use futures_lite::future::block_on;

use crate::target::pool::{Running, submits};

/// Starts the threads.
pub(super) fn start(threads: usize) -> io::Result<Running<Shared, Shared>> {
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
    let threads = threads.collect::<io::Result<Vec<_>>>()?;
    Ok(Running::alike(Shared(executor), move || {
        drop(stop);
        // A panicked thread lost a task, which the tally reports.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }))
}

/// The shared executor.
#[derive(Clone, Copy)]
pub(crate) struct Shared(&'static StaticExecutor);

submits!(Shared, |Shared(executor), job| executor.spawn(async move { job() }).detach());
