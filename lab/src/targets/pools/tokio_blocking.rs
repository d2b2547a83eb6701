//! tokio: `spawn_blocking` on a runtime without worker threads, so all threads are for blocking
//! tasks. It has no core size: all idle threads end.

use std::io;

use tokio::runtime::{Builder, Handle};

use crate::target::pool::{Running, Size, submits};

/// Starts a runtime with up to this many threads for blocking tasks. The end waits for the running tasks, and drops the others, which
/// the tally reports.
pub(super) fn sized(size: Size) -> io::Result<Running<Blocking, Blocking>> {
    let mut builder = Builder::new_current_thread();
    builder.max_blocking_threads(size.max).thread_keep_alive(size.keep_alive);
    let runtime = builder.build()?;
    Ok(Running::alike(Blocking(runtime.handle().clone()), || drop(runtime)))
}

/// The runtime's handle.
#[derive(Clone)]
pub(crate) struct Blocking(Handle);

submits!(Blocking, |Blocking(runtime), job| drop(runtime.spawn_blocking(job)));
