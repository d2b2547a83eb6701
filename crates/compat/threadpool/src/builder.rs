//! Configuring and building a pool.

use std::io;
use std::time::Duration;

use brigade::{NewThread, Pool, Queueing, Shutdown, Threads};

use crate::pool::{ThreadPool, check};

impl ThreadPool {
    /// Creates a pool of `num_threads` threads without a name.
    ///
    /// # Panics
    /// If `num_threads` is 0, or a thread can't be started.
    ///
    /// # Examples
    /// ```
    /// let pool = threadpool::ThreadPool::new(4);
    /// assert_eq!(pool.max_count(), 4);
    /// ```
    #[track_caller]
    pub fn new(num_threads: usize) -> ThreadPool {
        Builder::new().num_threads(num_threads).build()
    }

    /// Creates a pool of `num_threads` threads, each of which has this name.
    ///
    /// # Panics
    /// If `num_threads` is 0, a thread can't be started, or the name contains NUL.
    ///
    /// # Examples
    /// ```
    /// let pool = threadpool::ThreadPool::with_name("worker".into(), 2);
    /// pool.execute(|| assert_eq!(std::thread::current().name(), Some("worker")));
    /// pool.join();
    /// assert_eq!(pool.panic_count(), 0);
    /// ```
    #[track_caller]
    pub fn with_name(name: String, num_threads: usize) -> ThreadPool {
        Builder::new().num_threads(num_threads).thread_name(name).build()
    }

    /// Does the same as [`with_name`](Self::with_name).
    #[deprecated(since = "1.4.0", note = "call `with_name` instead")]
    #[track_caller]
    pub fn new_with_name(name: String, num_threads: usize) -> ThreadPool {
        Self::with_name(name, num_threads)
    }
}

/// A pool of as many threads as the process may run at once.
impl Default for ThreadPool {
    fn default() -> Self {
        Builder::new().build()
    }
}

/// Configures and builds a [`ThreadPool`]: the number of its threads, their name and their stack size.
///
/// ```
/// let pool = threadpool::Builder::new()
///     .num_threads(2)
///     .thread_name("worker".into())
///     .thread_stack_size(4 << 20)
///     .build();
/// assert_eq!(pool.max_count(), 2);
/// ```
#[derive(Clone, Default)]
pub struct Builder {
    num_threads: Option<usize>,
    thread_name: Option<String>,
    thread_stack_size: Option<usize>,
}

impl Builder {
    /// Returns a builder with the default configuration.
    ///
    /// ```
    /// let pool = threadpool::Builder::new().build();
    /// assert!(pool.max_count() >= 1);
    /// ```
    pub fn new() -> Builder {
        Self::default()
    }

    /// Sets how many threads the pool has. Default: as many as the process may run at once.
    ///
    /// # Panics
    /// If `num_threads` is 0.
    ///
    /// # Examples
    /// ```
    /// let pool = threadpool::Builder::new().num_threads(8).build();
    /// assert_eq!(pool.max_count(), 8);
    /// ```
    #[track_caller]
    pub fn num_threads(mut self, num_threads: usize) -> Builder {
        check(num_threads);
        self.num_threads = Some(num_threads);
        self
    }

    /// Sets the name of each thread. Default: none.
    ///
    /// ```
    /// let pool = threadpool::Builder::new().thread_name("worker".into()).build();
    /// pool.execute(|| assert_eq!(std::thread::current().name(), Some("worker")));
    /// pool.join();
    /// assert_eq!(pool.panic_count(), 0);
    /// ```
    pub fn thread_name(mut self, name: String) -> Builder {
        self.thread_name = Some(name);
        self
    }

    /// Sets the stack size of each thread, in bytes. Default: the standard library's.
    ///
    /// ```
    /// let pool = threadpool::Builder::new().num_threads(1).thread_stack_size(16 << 20).build();
    /// pool.execute(|| assert_eq!([0_u8; 4 << 20].len(), 4 << 20));
    /// pool.join();
    /// assert_eq!(pool.panic_count(), 0);
    /// ```
    pub fn thread_stack_size(mut self, size: usize) -> Builder {
        self.thread_stack_size = Some(size);
        self
    }

    /// Builds the pool and starts its threads.
    ///
    /// # Panics
    /// If a thread can't be started, or the name contains NUL.
    ///
    /// # Examples
    /// ```
    /// let pool = threadpool::Builder::new().num_threads(2).build();
    /// assert_eq!(pool.queued_count(), 0);
    /// ```
    #[track_caller]
    pub fn build(self) -> ThreadPool {
        let Self { num_threads, thread_name: name, thread_stack_size } = self;
        let threads = num_threads.unwrap_or_else(brigade::default_threads);
        match start(threads, name.clone(), thread_stack_size) {
            Ok(pool) => ThreadPool::from_pool(pool, name),
            Err(error) => panic!("cannot start a pool of {threads} threads: {error}"),
        }
    }
}

/// Starts a pool whose drop does not wait.
fn start(threads: usize, name: Option<String>, stack_size: Option<usize>) -> io::Result<Pool> {
    let builder = Pool::builder()
        .threads(threads.min(Threads::MAX))
        .prestart(usize::MAX)
        // A job that waits occupies its thread: there are never more threads than were asked for.
        .spare_threads(0)
        // As the original's channel: jobs start in the order of their submission. Programs rely on it: if as many jobs as there are
        // threads wait for each other, a later job that is started before the last of them blocks them all.
        .queueing(Queueing::Shared)
        .on_drop(Shutdown::Drain.timeout(Duration::ZERO));
    let builder = match stack_size {
        Some(bytes) => builder.stack_size(bytes),
        None => builder,
    };
    match name {
        Some(name) => builder.name(move |_| name.clone()).build(),
        None => builder.spawner(|thread: NewThread| thread.without_name().start()).build(),
    }
}
