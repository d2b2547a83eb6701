//! Running code that blocks, on the threads of a pool.

use crate::engine;

/// Runs code that blocks for a while: code that waits for the network, a file, a lock or another job.
///
/// On a worker, the pool does not count this thread meanwhile. If there is work, the pool wakes or starts a thread
/// in its place, up to [`spare_threads`](crate::Builder::spare_threads) threads. Surplus threads end once they have
/// been idle for the pool's [`keep_alive`](crate::Builder::keep_alive). On any other thread this only runs the code.
///
/// Do not wrap [`JoinHandle::join`](crate::JoinHandle::join): it does this itself. If a pool hangs because jobs block without this,
/// [`Builder::on_stall`][crate::Builder::on_stall] reports them and [`Handle::dump`][crate::Handle::dump] lists them.
///
/// ```
/// use std::sync::mpsc;
/// let pool = brigade::Pool::new(1);
/// let (sender, receiver) = mpsc::channel();
/// let waiting = pool.submit(move || brigade::blocking(|| receiver.recv()));
/// pool.execute(move || _ = sender.send(42)); // The only thread is blocked: another runs this.
/// assert_eq!(waiting.join()?, Ok(42));
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[cfg_attr(not(feature = "observe"), doc = include_str!("../guide/without_observe.md"))]
#[doc(alias = "block_in_place")]
pub fn blocking<R>(code: impl FnOnce() -> R) -> R {
    engine::blocking(code)
}
