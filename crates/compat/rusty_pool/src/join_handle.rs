//! The handle of a task with a result.

use futures_channel::oneshot;

/// A handle for the result of a task. Dropping it does not affect the task.
///
/// ```
/// let pool = rusty_pool::ThreadPool::default();
/// let parts = [pool.evaluate(|| 40), pool.evaluate(|| 2)];
/// // Another task of the pool may wait for them, and occupies a thread meanwhile.
/// let sum = pool.evaluate(move || parts.map(|part| part.await_complete()).iter().sum::<i32>());
/// assert_eq!(sum.await_complete(), 42);
/// ```
pub struct JoinHandle<T: Send> {
    /// Receives the result; a future.
    pub receiver: oneshot::Receiver<T>,
}

impl<T: Send> JoinHandle<T> {
    /// Waits for the result.
    ///
    /// # Errors
    /// [`oneshot::Canceled`] if the task panicked.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.evaluate(|| 42).try_await_complete(), Ok(42));
    /// assert!(pool.evaluate(|| panic!("no such file")).try_await_complete().is_err());
    /// ```
    pub fn try_await_complete(self) -> Result<T, oneshot::Canceled> {
        brigade::block_on(self.receiver)
    }

    /// Waits for the result.
    ///
    /// # Panics
    /// If the task panicked.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.evaluate(|| 42).await_complete(), 42);
    /// ```
    #[track_caller]
    pub fn await_complete(self) -> T {
        match self.try_await_complete() {
            Ok(result) => result,
            Err(_) => panic!(
                "could not receive message because channel was cancelled: the task has no result, as it panicked"
            ),
        }
    }
}
