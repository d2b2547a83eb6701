//! The state shared by the clones of an executor with threads.

#[cfg(any(feature = "cb-channel-exec", feature = "workstealing-exec"))]
pub(crate) mod futures;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use brigade::{Builder, Pool, Shutdown, ShutdownOptions, Threads};
use brigade_sync::atomic::{AtomicBool, Ordering};

use crate::common::ignored;
use crate::metered::Meter;

/// Implements the traits of an executor whose field `shared` does all of it.
///
/// The generics are in brackets, then how long [`shutdown_borrowed`](crate::common::Executor::shutdown_borrowed) waits.
macro_rules! executor {
    ([$($generics:tt)*] $executor:ty, $(#[$waits:meta])* waits: $patience:expr) => {
        impl $($generics)* $crate::common::CanExecute for $executor {
            fn execute_job(&self, job: Box<dyn FnOnce() + Send + 'static>) {
                self.shared.execute(job);
            }
        }

        impl $($generics)* $crate::common::Executor for $executor {
            #[inline]
            fn execute<F>(&self, job: F)
            where
                F: FnOnce() + Send + 'static,
            {
                self.shared.execute(job);
            }

            fn shutdown_async(&self) {
                self.shared.close();
            }

            $(#[$waits])*
            fn shutdown_borrowed(&self) -> Result<(), String> {
                self.shared.shut_down($patience)
            }

            #[cfg(feature = "produce-metrics")]
            fn register_metrics(&self) {
                self.shared.describe();
            }
        }

        impl $($generics)* ::std::fmt::Debug for $executor {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($executor)).field("shared", &self.shared).finish()
            }
        }
    };
}
pub(crate) use executor;

/// How long a shutdown waits for jobs.
#[cfg(any(feature = "cb-channel-exec", feature = "workstealing-exec"))]
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A pool, and the data of a kind of executor.
pub(crate) struct Shared<K = ()> {
    pool: Pool,
    /// Whether it has been shut down. Brigade would still accept jobs submitted by the pool's jobs.
    closed: AtomicBool,
    meter: Meter,
    /// The data of an executor of this kind.
    _kept: K,
}

/// The configuration common to all executors: every thread from the start, and never more.
///
/// # Panics
/// If there is to be none.
#[track_caller]
pub(crate) fn configure(threads: usize) -> Builder {
    assert!(threads > 0, "an executor has at least 1 thread");
    Pool::builder().threads(threads.min(Threads::MAX)).prestart(usize::MAX).spare_threads(0)
}

impl<K> Shared<K> {
    /// Starts the threads.
    ///
    /// # Panics
    /// If a thread can't be started.
    #[track_caller]
    pub(crate) fn start(builder: Builder, meter: Meter, kept: K) -> Arc<Self> {
        match builder.build() {
            Ok(pool) => Arc::new(Self { pool, closed: AtomicBool::new(false), meter, _kept: kept }),
            Err(error) => panic!("cannot start the threads of an executor: {error}"),
        }
    }

    /// Runs a job, or ignores it after a shutdown.
    #[inline]
    pub(crate) fn execute<F: FnOnce() + Send + 'static>(&self, job: F) {
        if self.is_closed() || self.pool.try_execute(self.meter.queued(job)).is_err() {
            ignored();
        }
    }

    #[inline]
    fn is_closed(&self) -> bool {
        // Ordering: Relaxed: the flag publishes nothing. A thread that knows of the shutdown sees it.
        self.closed.load(Ordering::Relaxed)
    }

    /// Marks the executor as shut down; `false` if it was before.
    fn mark_closed(&self) -> bool {
        // Ordering: as in `is_closed`.
        !self.closed.swap(true, Ordering::Relaxed)
    }

    /// Shuts the executor down without a wait.
    pub(crate) fn close(&self) {
        match self.mark_closed() {
            true => self.pool.close(),
            false => log::warn!("the executor has been shut down before"),
        }
    }

    /// Shuts the executor down, and waits for the jobs, for at most so long.
    ///
    /// # Errors
    /// If it was shut down before, or the jobs have not ended by then.
    pub(crate) fn shut_down(&self, patience: Option<Duration>) -> Result<(), String> {
        if !self.mark_closed() {
            return Err("the executor has been shut down before".into());
        }
        let drain = match patience {
            Some(patience) => Shutdown::Drain.timeout(patience),
            None => ShutdownOptions::from(Shutdown::Drain),
        };
        match self.pool.shutdown(drain).still_running {
            0 => Ok(()),
            jobs => Err(format!("the shutdown was not waited for: {jobs} jobs have not ended")),
        }
    }

    /// Describes the counters to the recorder.
    #[cfg(feature = "produce-metrics")]
    pub(crate) fn describe(&self) {
        self.meter.describe();
    }
}

impl<K> fmt::Debug for Shared<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("pool", &self.pool)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
