//! Code that blocks, on the threads of a pool.

use crate::engine;

/// Runs code that blocks for a while: what waits for the network, a file, a lock or another job.
///
/// On a worker of a pool, the pool does not count this thread meanwhile: if there is work, it wakes or starts another
/// in its place, up to [`spare_threads`](crate::Builder::spare_threads) of them. Those that are too many afterwards end
/// when they have been idle for the pool's [`keep_alive`](crate::Builder::keep_alive). Anywhere else it only runs the
/// code.
///
/// Waiting for another job by [`JoinHandle::join`](crate::JoinHandle::join) need not be said: that does the same by itself.
///
/// ```
/// use std::sync::mpsc;
/// let pool = brigade::Pool::new(1);
/// let (sender, receiver) = mpsc::channel();
/// let waiting = pool.submit(move || brigade::blocking(|| receiver.recv().unwrap()));
/// pool.execute(move || sender.send(42).unwrap()); // The only thread is blocked: another runs this.
/// assert_eq!(waiting.join().unwrap(), 42);
/// ```
pub fn blocking<R>(code: impl FnOnce() -> R) -> R {
    engine::blocking(code)
}
