//! A pool of threads as in the crate threadpool: a single queue, and nothing waits when it is dropped.
//!
//! A panic ends the job, and the thread continues. Jobs submitted before the drop of the last clone still run, in the
//! background.
//!
//! ```
//! use executors::*;
//! use executors::threadpool_executor::ThreadPoolExecutor;
//! let pool = ThreadPoolExecutor::new(4);
//! let (sender, receiver) = std::sync::mpsc::channel();
//! for number in 1..=8 {
//!     let sender = sender.clone();
//!     pool.execute(move || sender.send(number).unwrap());
//! }
//! assert_eq!(receiver.iter().take(8).sum::<i32>(), 36);
//! ```

use std::sync::Arc;
use std::time::Duration;

use brigade::{NewThread, Queueing, Shutdown};

use crate::metered::Meter;
use crate::shared::{Shared, configure, executor};

/// A pool of threads with a single queue, shared by the clones.
///
/// See the [module](self).
#[derive(Clone)]
pub struct ThreadPoolExecutor {
    shared: Arc<Shared>,
}

impl ThreadPoolExecutor {
    /// Creates a pool of `threads` threads without a name; more than 4096 are 4096.
    ///
    /// # Panics
    /// If `threads` is 0, or a thread can't be started.
    ///
    /// # Examples
    /// ```
    /// use executors::*;
    /// let pool = threadpool_executor::ThreadPoolExecutor::new(4);
    /// assert_eq!(pool.shutdown(), Ok(()));
    /// ```
    #[track_caller]
    pub fn new(threads: usize) -> ThreadPoolExecutor {
        let builder = configure(threads)
            .queueing(Queueing::Shared)
            .spawner(|thread: NewThread| thread.without_name().start())
            .on_drop(Shutdown::Drain.timeout(Duration::ZERO));
        let meter = Meter::new(std::any::type_name::<Self>());
        Self { shared: Shared::start(builder, meter, ()) }
    }
}

/// A pool of as many threads as the process may run at once.
#[cfg(feature = "defaults")]
impl Default for ThreadPoolExecutor {
    fn default() -> Self {
        Self::new(brigade::default_threads())
    }
}

executor!(
    [] ThreadPoolExecutor,
    /// Waits without a limit.
    waits: None
);
