//! Configuring and building a pool.

use std::io;
use std::time::Duration;

use brigade::{NewThread, Pool, Queueing, Shutdown, Threads};
use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicU64;

use crate::pool::ThreadPool;

/// The largest size of a pool: the largest number in half the bits of a `usize`. A pool has at most 4096 threads.
pub const MAX_SIZE: usize = (1 << (usize::BITS / 2)) - 1;

/// How long a thread beyond the core size stays idle by default.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

impl ThreadPool {
    /// Creates a pool with a name of its own, `rusty_pool_1` and so on; see [`new_named`](Self::new_named).
    ///
    /// # Panics
    /// As for [`new_named`](Self::new_named).
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let pool = rusty_pool::ThreadPool::new(5, 50, Duration::from_secs(60));
    /// assert!(pool.get_name().starts_with("rusty_pool_"));
    /// ```
    #[track_caller]
    pub fn new(core_size: usize, max_size: usize, keep_alive: Duration) -> Self {
        static POOLS: AtomicU64 = AtomicU64::new(1);
        let name = format!("rusty_pool_{}", POOLS.fetch_add(1, Ordering::Relaxed));
        Self::new_named(name, core_size, max_size, keep_alive)
    }

    /// Creates a pool without threads. Each submission starts a thread until there are `core_size`, and from then on if none
    /// is idle, up to `max_size`. A thread beyond the core size that has been idle for `keep_alive` ends.
    ///
    /// # Panics
    /// If `max_size` is 0, less than `core_size`, or more than [`MAX_SIZE`].
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let pool = rusty_pool::ThreadPool::new_named("mine".into(), 1, 2, Duration::from_secs(60));
    /// let name = pool.evaluate(|| std::thread::current().name().map(String::from));
    /// assert_eq!(name.await_complete().as_deref(), Some("mine_thread_1"));
    /// ```
    #[track_caller]
    pub fn new_named(
        name: String,
        core_size: usize,
        max_size: usize,
        keep_alive: Duration,
    ) -> Self {
        // The texts begin as the original's: a test of a program may expect them.
        assert!(
            max_size > 0 && max_size >= core_size,
            "max_size must be greater than 0 and greater or equal to the core pool size: {max_size}, {core_size}"
        );
        assert!(max_size <= MAX_SIZE, "max_size may not exceed {MAX_SIZE}: {max_size}");
        match start(name.clone(), core_size, max_size, keep_alive) {
            Ok(pool) => Self::from_pool(pool, name),
            Err(error) => panic!("cannot make a pool: {error}"),
        }
    }
}

/// A pool with as many core threads as the process may run at once, which grows to twice as many.
impl Default for ThreadPool {
    fn default() -> Self {
        Builder::new().build()
    }
}

/// Configures and builds a [`ThreadPool`].
///
/// ```
/// let pool = rusty_pool::Builder::new().name("mine".into()).core_size(2).max_size(8).build();
/// assert_eq!(pool.get_name(), "mine");
/// ```
#[derive(Default)]
pub struct Builder {
    name: Option<String>,
    core_size: Option<usize>,
    max_size: Option<usize>,
    keep_alive: Option<Duration>,
}

impl Builder {
    /// Returns a builder with the default configuration.
    ///
    /// ```
    /// let pool = rusty_pool::Builder::new().build();
    /// assert_eq!(pool.get_current_worker_count(), 0);
    /// ```
    pub fn new() -> Builder {
        Self::default()
    }

    /// Sets the name of the pool, with which the names of the threads begin. Default: `rusty_pool_1`, `rusty_pool_2` and so on.
    ///
    /// ```
    /// let pool = rusty_pool::Builder::new().name("mine".into()).build();
    /// assert_eq!(pool.get_name(), "mine");
    /// ```
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Sets how many threads stay, however long they are idle. Default: as many as the process may run at once, or the maximum
    /// if that is less.
    ///
    /// ```
    /// let pool = rusty_pool::Builder::new().core_size(3).build();
    /// pool.start_core_threads();
    /// assert_eq!(pool.get_current_worker_count(), 3);
    /// ```
    pub fn core_size(mut self, size: usize) -> Builder {
        self.core_size = Some(size);
        self
    }

    /// Sets how many threads there may be. Default: twice the core size.
    ///
    /// ```
    /// let pool = rusty_pool::Builder::new().core_size(0).max_size(1).build();
    /// assert_eq!(pool.evaluate(|| 42).await_complete(), 42);
    /// ```
    pub fn max_size(mut self, size: usize) -> Builder {
        self.max_size = Some(size);
        self
    }

    /// Sets how long a thread beyond the core size stays idle before it ends. Default: 60 seconds.
    ///
    /// ```
    /// use std::time::Duration;
    /// let builder = rusty_pool::Builder::new().core_size(0).max_size(1);
    /// let pool = builder.keep_alive(Duration::from_millis(1)).build();
    /// pool.evaluate(|| ()).await_complete();
    /// while pool.get_current_worker_count() > 0 {
    ///     std::thread::yield_now();
    /// }
    /// ```
    pub fn keep_alive(mut self, keep_alive: Duration) -> Builder {
        self.keep_alive = Some(keep_alive);
        self
    }

    /// Builds the pool, without threads.
    ///
    /// # Panics
    /// As for [`ThreadPool::new_named`].
    ///
    /// # Examples
    /// ```
    /// let pool = rusty_pool::Builder::new().core_size(5).max_size(50).build();
    /// assert_eq!(pool.evaluate(|| 42).await_complete(), 42);
    /// ```
    #[track_caller]
    pub fn build(self) -> ThreadPool {
        let most = self.max_size.unwrap_or(MAX_SIZE);
        let core_size = self.core_size.unwrap_or_else(|| brigade::default_threads().min(most));
        // A core size that can't be doubled is refused below, or is the maximum itself.
        let doubled = || core_size.saturating_mul(2).min(MAX_SIZE);
        let max_size = self.max_size.unwrap_or_else(doubled);
        let keep_alive = self.keep_alive.unwrap_or(KEEP_ALIVE);
        match self.name {
            Some(name) => ThreadPool::new_named(name, core_size, max_size, keep_alive),
            None => ThreadPool::new(core_size, max_size, keep_alive),
        }
    }
}

/// Makes a pool whose drop does not wait.
fn start(name: String, core: usize, max: usize, keep_alive: Duration) -> io::Result<Pool> {
    let threads = AtomicU64::new(1);
    let spawner = move |thread: NewThread| {
        let number = threads.fetch_add(1, Ordering::Relaxed);
        thread.with_name(format!("{name}_thread_{number}")).start()
    };
    Pool::builder()
        .threads(core.min(Threads::MAX)..=max.min(Threads::MAX))
        .prestart(0)
        .keep_alive(keep_alive)
        // A task that waits occupies its thread: there are never more than the maximum.
        .spare_threads(0)
        // As the original's channel: tasks start in the order of their submission. Programs rely on it: if as many tasks as there are
        // threads wait for each other, a later task that is started before the last of them blocks them all.
        .queueing(Queueing::Shared)
        .spawner(spawner)
        // Spawned futures that wait still run once they are woken.
        .on_drop(Shutdown::Finish.timeout(Duration::ZERO))
        .build()
}
