//! Work as a value: a closure in four words, and a handle for its outcome.
//!
//! - [`Job`] runs once or is dropped once; captures of up to 24 bytes lie inside it.
//! - [`Job::with_handle`] makes a job and a [`JoinHandle`] that share one allocation.
//! - [`Spawned::new`] makes a job of a future, polled where its [`Home`] takes it.
//! - [`Work`] is what a job is made of: any closure, or a closure with something to be done before it.
//!
//! What is not here: queues and threads. A job does not know who runs it.
// `std` is named for `catch_unwind` and wakers; atomics and cells come from `brigade_sync`.

mod cell;
mod future;
mod job;
mod join;
mod work;

use std::panic::{self, AssertUnwindSafe};

pub use cell::JobId;
pub use future::{Home, Spawned, TaskRef};
pub use job::{Job, Ran};
pub use join::{JoinError, JoinHandle};
pub use work::Work;

/// Whether the handle of the job that this thread runs has [asked it to stop](JoinHandle::ask_to_stop); `false`
/// if there is no such job.
///
/// Inside a job that runs another, that is the inner one's handle until it ends.
///
/// ```
/// use brigade_task::{Job, is_cancelled};
/// use std::sync::mpsc;
/// let (begun, begins) = mpsc::channel();
/// let (job, mut handle) = Job::with_handle(move || {
///     begun.send(is_cancelled()).unwrap();
///     while !is_cancelled() {
///         std::hint::spin_loop();
///     }
///     "stopped"
/// });
/// let worker = std::thread::spawn(|| job.run());
/// assert_eq!(begins.recv(), Ok(false));
/// handle.ask_to_stop();
/// assert_eq!(handle.join().unwrap(), "stopped");
/// # worker.join().unwrap();
/// ```
pub fn is_cancelled() -> bool {
    cell::is_asked_to_stop()
}

/// Calls with each job with a handle that this thread runs: the innermost first, then the one in which that is
/// run, and so on.
///
/// ```
/// use brigade_task::{Job, for_each_running};
/// let (inner, inner_handle) = Job::with_handle(|| {
///     let mut running = Vec::new();
///     for_each_running(|id| running.push(id));
///     running
/// });
/// let inner_id = inner_handle.id();
/// let (outer, outer_handle) = Job::with_handle(move || inner.run());
/// let outer_id = outer_handle.id();
/// outer.run();
/// assert_eq!(inner_handle.join().unwrap(), [inner_id, outer_id]);
/// # drop(outer_handle);
/// for_each_running(|_| unreachable!());
/// ```
pub fn for_each_running(call: impl FnMut(JobId)) {
    cell::for_each_running(call);
}

/// Drops a value of the user's; if that panics, what the panic carries is leaked unless it is a message, as its drop might
/// panic again, without end (rust-lang/rust#86027).
///
/// The panic hook has told of it.
pub fn drop_contained<T>(value: T) {
    contain(|| drop(value));
}

/// Calls what is the user's and must not unwind into us; leaks what a panic of it carries, unless it is a message.
pub fn contain(call: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) {
        if !payload.is::<&'static str>() && !payload.is::<String>() {
            core::mem::forget(payload);
        }
    }
}
