//! The pool, shared by the clones.

use std::fmt;
use std::sync::Arc;

use brigade::{Handle, Pool, Threads};

/// A pool of threads that runs closures in the order of their submission.
///
/// Clones are the same pool, and compare equal. Dropping the last clone does not wait: submitted jobs still run, in the
/// background, and then the threads end.
///
/// ```
/// let pool = threadpool::ThreadPool::new(2);
/// let clone = pool.clone();
/// pool.execute(move || clone.execute(|| println!("a job of a job")));
/// pool.join(); // For both.
/// assert_eq!((pool.queued_count(), pool.active_count()), (0, 0));
/// ```
#[derive(Clone)]
pub struct ThreadPool {
    shared: Arc<Shared>,
}

/// The state shared by the clones of a pool.
struct Shared {
    pool: Pool,
    /// The name of each thread.
    name: Option<String>,
}

impl ThreadPool {
    pub(crate) fn from_pool(pool: Pool, name: Option<String>) -> Self {
        Self { shared: Arc::new(Shared { pool, name }) }
    }

    /// Runs a closure on a thread of the pool, once.
    ///
    /// ```
    /// let pool = threadpool::ThreadPool::new(2);
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.execute(move || sender.send("hello").unwrap());
    /// assert_eq!(receiver.recv(), Ok("hello"));
    /// ```
    #[inline]
    #[track_caller]
    pub fn execute<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.shared.pool.execute(job);
    }

    /// Returns how many jobs wait for a thread.
    ///
    /// ```
    /// let pool = threadpool::ThreadPool::new(1);
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// pool.execute(move || _ = ends.recv());
    /// while pool.active_count() == 0 {} // Until it runs.
    /// pool.execute(|| ());
    /// assert_eq!(pool.queued_count(), 1);
    /// drop(end);
    /// ```
    pub fn queued_count(&self) -> usize {
        count(self.shared.pool.metrics().queued)
    }

    /// Returns how many jobs run.
    ///
    /// ```
    /// let pool = threadpool::ThreadPool::new(4);
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// pool.execute(move || _ = ends.recv());
    /// while pool.queued_count() > 0 {} // Until it runs.
    /// assert_eq!(pool.active_count(), 1);
    /// drop(end);
    /// pool.join();
    /// assert_eq!(pool.active_count(), 0);
    /// ```
    pub fn active_count(&self) -> usize {
        count(self.shared.pool.metrics().running)
    }

    /// Returns how many threads the pool has, once those that are surplus have ended.
    ///
    /// ```
    /// let mut pool = threadpool::ThreadPool::new(4);
    /// assert_eq!(pool.max_count(), 4);
    /// pool.set_num_threads(8);
    /// assert_eq!(pool.max_count(), 8);
    /// ```
    pub fn max_count(&self) -> usize {
        *self.shared.pool.size().end()
    }

    /// Returns how many jobs have panicked.
    ///
    /// ```
    /// let pool = threadpool::ThreadPool::new(4);
    /// for number in 0..10 {
    ///     pool.execute(move || assert!(number % 2 == 0, "{number} is odd"));
    /// }
    /// pool.join();
    /// assert_eq!(pool.panic_count(), 5);
    /// ```
    pub fn panic_count(&self) -> usize {
        count(self.shared.pool.metrics().panicked)
    }

    /// Does the same as [`set_num_threads`](Self::set_num_threads).
    #[deprecated(since = "1.3.0", note = "call `set_num_threads` instead")]
    #[track_caller]
    pub fn set_threads(&mut self, num_threads: usize) {
        self.set_num_threads(num_threads);
    }

    /// Changes how many threads the pool has. More start at once. Surplus threads end, but a running job is not interrupted.
    ///
    /// # Panics
    /// If `num_threads` is 0.
    ///
    /// # Examples
    /// ```
    /// let mut pool = threadpool::ThreadPool::new(1);
    /// pool.set_num_threads(2);
    /// let meeting = std::sync::Arc::new(std::sync::Barrier::new(2));
    /// for _ in 0..2 {
    ///     let meeting = meeting.clone();
    ///     pool.execute(move || _ = meeting.wait()); // Needs both threads.
    /// }
    /// pool.join();
    /// ```
    #[track_caller]
    pub fn set_num_threads(&mut self, num_threads: usize) {
        check(num_threads);
        if let Err(error) = self.shared.pool.resize(num_threads.min(Threads::MAX)) {
            panic!("cannot change the number of threads to {num_threads}: {error}");
        }
        // A thread that can't be started now is started with a later job, and those there are run the jobs meanwhile.
        _ = self.shared.pool.prestart();
    }

    /// Waits until the pool is idle: no job queued, none running. Any number of threads may wait at once.
    ///
    /// # Panics
    /// In a job of this pool, which would wait for itself.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RAN: AtomicU32 = AtomicU32::new(0);
    /// let pool = threadpool::ThreadPool::new(8);
    /// for _ in 0..42 {
    ///     pool.execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
    /// }
    /// pool.join();
    /// assert_eq!(RAN.load(Ordering::Relaxed), 42);
    /// ```
    #[track_caller]
    pub fn join(&self) {
        let pool = &self.shared.pool;
        if !pool.wait_idle() {
            // In the child of a fork there is nothing to wait for.
            let is_own = Handle::current() == Some(pool.handle());
            assert!(!is_own, "a job that joins its own pool would wait for itself");
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("name", &self.shared.name)
            .field("queued_count", &self.queued_count())
            .field("active_count", &self.active_count())
            .field("max_count", &self.max_count())
            .finish()
    }
}

/// Whether both are the same pool.
///
/// ```
/// use threadpool::ThreadPool;
/// let (one, other) = (ThreadPool::new(1), ThreadPool::new(1));
/// assert_eq!(one, one.clone());
/// assert_ne!(one, other);
/// ```
impl PartialEq for ThreadPool {
    fn eq(&self, other: &ThreadPool) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for ThreadPool {}

/// Rejects a pool without threads.
#[track_caller]
pub(crate) fn check(num_threads: usize) {
    assert!(num_threads > 0, "a pool has at least 1 thread");
}

fn count(jobs: u64) -> usize {
    usize::try_from(jobs).unwrap_or(usize::MAX)
}
