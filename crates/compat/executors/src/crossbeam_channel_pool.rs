//! A pool of threads with a single queue: jobs start in the order of their submission.
//!
//! A panic ends the job, and the thread continues. Dropping the last clone waits until all jobs have run, for five seconds at
//! most.
//!
//! ```
//! use executors::*;
//! use executors::crossbeam_channel_pool::ThreadPool;
//! let pool = ThreadPool::new(4);
//! let (sender, receiver) = std::sync::mpsc::channel();
//! for number in 1..=8 {
//!     let sender = sender.clone();
//!     pool.execute(move || sender.send(number).unwrap());
//! }
//! assert_eq!(pool.shutdown(), Ok(()));
//! assert_eq!(receiver.try_iter().sum::<i32>(), 36);
//! ```

use std::sync::Arc;

use brigade::{Queueing, Shutdown};

use crate::metered::Meter;
use crate::pins::Pins;
use crate::shared::futures::futures_executor;
use crate::shared::{PATIENCE, Shared, configure, executor};

/// A pool of threads with a single queue, shared by the clones.
///
/// See the [module](self).
#[derive(Clone)]
pub struct ThreadPool {
    shared: Arc<Shared>,
}

impl ThreadPool {
    /// Creates a pool of `threads` threads; more than 4096 are 4096.
    ///
    /// With the feature `thread-pinning` each is pinned to a separate core. If there are more threads than cores, the rest
    /// floats.
    ///
    /// # Panics
    /// If `threads` is 0, or a thread can't be started.
    ///
    /// # Examples
    /// ```
    /// use executors::*;
    /// let pool = crossbeam_channel_pool::ThreadPool::new(4);
    /// assert_eq!(pool.shutdown(), Ok(()));
    /// ```
    #[track_caller]
    pub fn new(threads: usize) -> ThreadPool {
        Self::start(threads, Pins::all())
    }

    /// Creates a pool with a thread pinned to each of these cores, and `floating` unpinned threads.
    ///
    /// A thread that can't be pinned to its core floats as well, and the log has a warning.
    ///
    /// # Panics
    /// If there is to be no thread, or a thread can't be started.
    ///
    /// # Examples
    /// ```
    /// use executors::*;
    /// let cores = core_affinity::get_core_ids().expect("the ids of the cores");
    /// let pool = crossbeam_channel_pool::ThreadPool::with_affinity(&cores[..1], 1);
    /// assert_eq!(pool.shutdown(), Ok(()));
    /// ```
    #[cfg(feature = "thread-pinning")]
    #[track_caller]
    pub fn with_affinity(cores: &[core_affinity::CoreId], floating: usize) -> ThreadPool {
        Self::start(cores.len() + floating, Pins::to(cores))
    }

    #[track_caller]
    fn start(threads: usize, pins: Pins) -> Self {
        let builder = configure(threads)
            .queueing(Queueing::Shared)
            .name(|_| "cb-channel-pool-worker".to_owned())
            .on_drop(Shutdown::Drain.timeout(PATIENCE));
        let meter = Meter::new("crossbeam_channel_pool").by_thread();
        Self { shared: Shared::start(pins.apply(builder, || ()), meter, ()) }
    }
}

/// A pool of as many threads as the process may run at once.
#[cfg(feature = "defaults")]
impl Default for ThreadPool {
    fn default() -> Self {
        Self::new(brigade::default_threads())
    }
}

executor!(
    [] ThreadPool,
    /// Waits for five seconds at most. Jobs unfinished by then run on.
    waits: Some(PATIENCE)
);
futures_executor!([] ThreadPool);
