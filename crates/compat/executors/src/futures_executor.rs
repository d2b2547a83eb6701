//! The trait of executors of futures.

use std::future::Future;

use crate::common::Executor;

/// The handle of a spawned future: a future of the output.
///
/// Dropping it cancels the spawned future; [`detach`](async_task::Task::detach) lets it run on. Awaiting it panics if the future
/// has panicked, or has been cancelled.
pub type JoinHandle<R> = async_task::Task<R>;

/// Runs futures. A future occupies no thread while it waits.
pub trait FuturesExecutor: Executor + Sync + 'static {
    /// Runs a future on the executor, and returns a handle for the output.
    ///
    /// The future holds a clone of the executor: as long as it has not ended, dropping all others does not end the threads. After a
    /// shutdown it is cancelled.
    ///
    /// ```
    /// # #[cfg(feature = "cb-channel-exec")] {
    /// use executors::*;
    /// use executors::crossbeam_channel_pool::ThreadPool;
    /// use futures::executor::block_on;
    /// let pool = ThreadPool::new(2);
    /// let six = pool.spawn(async { 6 });
    /// let answer = pool.spawn(async { six.await * 7 });
    /// assert_eq!(block_on(answer), 42);
    /// # }
    /// ```
    fn spawn<R: Send + 'static>(
        &self,
        future: impl Future<Output = R> + 'static + Send,
    ) -> JoinHandle<R>;
}
