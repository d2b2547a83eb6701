//! The pool, shared by the clones.

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use brigade::{Handle, Pool};
use crossbeam_channel::SendError;
use futures_channel::oneshot;

use crate::join_handle::JoinHandle;
use crate::task::Task;

/// A task that was not accepted.
type Job = Box<dyn FnOnce() + Send + 'static>;

/// A pool of threads that grows and shrinks, for closures and futures.
///
/// Clones are the same pool. Dropping the last clone does not wait: submitted tasks still run, in the background, and then
/// the threads end.
///
/// A submission starts a thread until the core size is reached. From then on it starts one if none is idle, up to the maximum.
///
/// The methods without `try_` panic where the others return an error: if the pool has no thread, and the operating system does
/// not start one.
///
/// ```
/// use rusty_pool::ThreadPool;
/// let pool = ThreadPool::default();
/// let doubled = pool.evaluate(|| 2 * 21);
/// assert_eq!(doubled.await_complete(), 42);
/// pool.execute(|| println!("hello"));
/// pool.shutdown_join(); // Waits for the task.
/// ```
#[derive(Clone)]
pub struct ThreadPool {
    shared: Arc<Shared>,
}

/// The state shared by the clones of a pool.
struct Shared {
    pool: Pool,
    name: String,
}

impl ThreadPool {
    pub(crate) fn from_pool(pool: Pool, name: String) -> Self {
        Self { shared: Arc::new(Shared { pool, name }) }
    }

    /// Returns how many threads there are, including those that are about to be started.
    ///
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.get_current_worker_count(), 0);
    /// pool.evaluate(|| ()).await_complete();
    /// assert_eq!(pool.get_current_worker_count(), 1);
    /// ```
    pub fn get_current_worker_count(&self) -> usize {
        self.shared.pool.metrics().threads
    }

    /// Returns how many threads wait for a task: they have none, and none is queued for them.
    ///
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// pool.execute(|| ());
    /// pool.join();
    /// assert_eq!(pool.get_idle_worker_count(), 1);
    /// ```
    pub fn get_idle_worker_count(&self) -> usize {
        let metrics = self.shared.pool.metrics();
        // A thread that is about to take a queued task, as it has been started for it, does not wait for a task.
        let queued = usize::try_from(metrics.queued).unwrap_or(usize::MAX);
        metrics.threads.saturating_sub(metrics.busy_threads).saturating_sub(queued)
    }

    /// Runs a task on the pool, once.
    ///
    /// # Panics
    /// If the task is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.execute(move || sender.send("hello").unwrap());
    /// assert_eq!(receiver.recv(), Ok("hello"));
    /// ```
    #[inline]
    #[track_caller]
    pub fn execute<T: Task<()> + 'static>(&self, task: T) {
        self.shared.pool.execute(move || task.run());
    }

    /// Runs a task on the pool, once.
    ///
    /// # Errors
    /// Returns the task if it is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// if let Err(rejected) = pool.try_execute(|| println!("hello")) {
    ///     (rejected.into_inner())(); // Here instead.
    /// }
    /// ```
    pub fn try_execute<T: Task<()> + 'static>(&self, task: T) -> Result<(), SendError<Job>> {
        let accepted = self.shared.pool.try_execute(move || task.run());
        accepted.map_err(|rejected| SendError(Box::new(rejected.into_inner()) as Job))
    }

    /// Runs a task on the pool, once, and returns a handle for its result.
    ///
    /// # Panics
    /// If the task is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.evaluate(|| 6 * 7).await_complete(), 42);
    /// ```
    #[track_caller]
    pub fn evaluate<R: Send + 'static, T: Task<R> + 'static>(&self, task: T) -> JoinHandle<R> {
        accepted(self.try_evaluate(task))
    }

    /// Runs a task on the pool, once, and returns a handle for its result.
    ///
    /// # Errors
    /// Returns the task if it is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.try_evaluate(|| 6 * 7)?.await_complete(), 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_evaluate<R: Send + 'static, T: Task<R> + 'static>(
        &self,
        task: T,
    ) -> Result<JoinHandle<R>, SendError<Job>> {
        let (sender, receiver) = oneshot::channel();
        // The handle may have been dropped.
        self.try_execute(move || drop(sender.send(task.run())))?;
        Ok(JoinHandle { receiver })
    }

    /// Runs a future on a thread of the pool until it is ready, and returns a handle for the output. The thread waits
    /// while the future does.
    ///
    /// # Panics
    /// If the future is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.complete(async { 6 * 7 }).await_complete(), 42);
    /// ```
    #[track_caller]
    pub fn complete<R: Send + 'static>(
        &self,
        future: impl Future<Output = R> + 'static + Send,
    ) -> JoinHandle<R> {
        accepted(self.try_complete(future))
    }

    /// Does the same as [`complete`](Self::complete), but does not panic.
    ///
    /// # Errors
    /// Returns a task that runs the future to its end if it is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.try_complete(async { 6 * 7 })?.await_complete(), 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_complete<R: Send + 'static>(
        &self,
        future: impl Future<Output = R> + 'static + Send,
    ) -> Result<JoinHandle<R>, SendError<Job>> {
        self.try_evaluate(|| brigade::block_on(future))
    }

    /// Runs a future on the pool. It occupies no thread while it waits.
    ///
    /// # Panics
    /// If the future is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(async move { sender.send(42).unwrap() });
    /// assert_eq!(receiver.recv(), Ok(42));
    /// ```
    #[cfg(feature = "async")]
    #[track_caller]
    pub fn spawn(&self, future: impl Future<Output = ()> + 'static + Send) {
        accepted(self.try_spawn(future));
    }

    /// Does the same as [`spawn`](Self::spawn), but does not panic.
    ///
    /// # Errors
    /// Returns a task that runs the future to its end if it is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// pool.try_spawn(async { println!("hello") })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "async")]
    pub fn try_spawn(
        &self,
        future: impl Future<Output = ()> + 'static + Send,
    ) -> Result<(), SendError<Job>> {
        match self.shared.pool.try_spawn(future) {
            Ok(_detached) => Ok(()),
            Err(rejected) => {
                let future = rejected.into_inner();
                Err(SendError(Box::new(move || brigade::block_on(future))))
            }
        }
    }

    /// Runs a future on the pool, and returns a handle for its output. It occupies no thread while it waits.
    ///
    /// # Panics
    /// If the future is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.spawn_await(async { 6 * 7 }).await_complete(), 42);
    /// ```
    #[cfg(feature = "async")]
    #[track_caller]
    pub fn spawn_await<R: Send + 'static>(
        &self,
        future: impl Future<Output = R> + 'static + Send,
    ) -> JoinHandle<R> {
        accepted(self.try_spawn_await(future))
    }

    /// Does the same as [`spawn_await`](Self::spawn_await), but does not panic.
    ///
    /// # Errors
    /// Returns a task that runs the future to its end if it is not accepted.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// assert_eq!(pool.try_spawn_await(async { 6 * 7 })?.await_complete(), 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "async")]
    pub fn try_spawn_await<R: Send + 'static>(
        &self,
        future: impl Future<Output = R> + 'static + Send,
    ) -> Result<JoinHandle<R>, SendError<Job>> {
        let (sender, receiver) = oneshot::channel();
        // The handle may have been dropped.
        self.try_spawn(async move { drop(sender.send(future.await)) })?;
        Ok(JoinHandle { receiver })
    }

    /// Waits until the pool is idle: no task queued, none running. Pending futures do not count, as they may never be
    /// woken.
    ///
    /// # Panics
    /// In a task of this pool, which would wait for itself.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RAN: AtomicU32 = AtomicU32::new(0);
    /// let pool = rusty_pool::ThreadPool::default();
    /// for _ in 0..42 {
    ///     pool.execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
    /// }
    /// pool.join();
    /// assert_eq!(RAN.load(Ordering::Relaxed), 42);
    /// ```
    #[track_caller]
    pub fn join(&self) {
        // In the child of a fork there is nothing to wait for.
        let waits_for_itself = !self.shared.pool.wait_idle() && self.is_current();
        assert!(!waits_for_itself, "a task that joins its own pool would wait for itself");
    }

    /// Does the same as [`join`](Self::join), but waits for at most `time_out`. A task of this pool waits that long.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = rusty_pool::ThreadPool::default();
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// pool.execute(move || _ = ends.recv());
    /// pool.join_timeout(Duration::from_millis(5));
    /// assert_eq!(pool.get_current_worker_count() - pool.get_idle_worker_count(), 1);
    /// drop(end);
    /// ```
    pub fn join_timeout(&self, time_out: Duration) {
        if !self.shared.pool.wait_idle_timeout(time_out) && self.is_current() {
            thread::sleep(time_out);
        }
    }

    /// Drops this clone.
    ///
    /// ```
    /// let pool = rusty_pool::ThreadPool::default();
    /// let result = pool.evaluate(|| 42);
    /// pool.shutdown(); // Does not wait, and the task still runs.
    /// assert_eq!(result.await_complete(), 42);
    /// ```
    pub fn shutdown(self) {
        drop(self);
    }

    /// Waits as [`join`](Self::join) does, and drops this clone.
    ///
    /// # Panics
    /// As for [`join`](Self::join).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RAN: AtomicU32 = AtomicU32::new(0);
    /// let pool = rusty_pool::ThreadPool::default();
    /// (0..42).for_each(|_| pool.execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed)));
    /// pool.shutdown_join();
    /// assert_eq!(RAN.load(Ordering::Relaxed), 42);
    /// ```
    #[track_caller]
    pub fn shutdown_join(self) {
        self.join();
    }

    /// Waits as [`join_timeout`](Self::join_timeout) does, and drops this clone.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = rusty_pool::ThreadPool::default();
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// let result = pool.evaluate(move || ends.recv().is_err());
    /// pool.shutdown_join_timeout(Duration::from_millis(5));
    /// drop(end);
    /// assert!(result.await_complete());
    /// ```
    pub fn shutdown_join_timeout(self, timeout: Duration) {
        self.join_timeout(timeout);
    }

    /// Returns the name of the pool, with which the names of the threads begin.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = rusty_pool::ThreadPool::new_named("mine".into(), 1, 2, Duration::from_secs(60));
    /// assert_eq!(pool.get_name(), "mine");
    /// ```
    pub fn get_name(&self) -> &str {
        &self.shared.name
    }

    /// Starts the threads of the core size that are not running yet.
    ///
    /// # Panics
    /// If the operating system does not start a thread.
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::Builder::new().core_size(2).build();
    /// pool.start_core_threads();
    /// assert_eq!(pool.get_current_worker_count(), 2);
    /// ```
    #[track_caller]
    pub fn start_core_threads(&self) {
        if let Err(error) = self.shared.pool.prestart() {
            panic!("could not spawn thread: {error}");
        }
    }

    /// Whether the calling thread is the pool's.
    fn is_current(&self) -> bool {
        Handle::current() == Some(self.shared.pool.handle())
    }
}

/// Panics if a task was not accepted; drops it first.
#[track_caller]
fn accepted<R>(result: Result<R, SendError<Job>>) -> R {
    match result.map_err(drop) {
        Ok(result) => result,
        Err(()) => {
            panic!("could not spawn thread: the pool has none, so the task was not accepted")
        }
    }
}
