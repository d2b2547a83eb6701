//! tokio: a multi-thread runtime without drivers, `Handle::spawn` outside, `tokio::spawn` inside.

use std::io;

use tokio::runtime::{Builder, Handle};

use crate::target::pool::{Running, submits};

/// Starts the runtime with worker threads.
pub(super) fn start(threads: usize) -> io::Result<Running<Handle, Inside>> {
    let runtime = Builder::new_multi_thread().worker_threads(threads).build()?;
    Ok(Running::new(runtime.handle().clone(), Inside, || drop(runtime)))
}

submits!(Handle, |runtime, job| drop(runtime.spawn(async move { job() })));

/// The runtime of the current thread.
#[derive(Clone)]
pub(crate) struct Inside;

submits!(Inside, |_, job| drop(tokio::spawn(async move { job() })));
