//! An executor without threads: it runs each job at once, on the submitting thread.
//!
//! For code that takes an [`Executor`] from a caller who has nothing to run at the same time.
//!
//! ```
//! use executors::*;
//! use executors::run_now::RunNowExecutor;
//! let executor = RunNowExecutor::new();
//! let (sender, receiver) = std::sync::mpsc::channel();
//! executor.execute(move || sender.send(42).unwrap());
//! assert_eq!(receiver.try_recv(), Ok(42));
//! assert_eq!(executor.shutdown(), Ok(()));
//! ```

use std::cell::Cell;
use std::sync::Arc;

use brigade_sync::atomic::{AtomicBool, Ordering};

use crate::common::{CanExecute, Executor, ignored};
use crate::metered::Meter;

/// Runs each job before [`execute`](Executor::execute) returns, a job inside a job as well. A panic of the job is a
/// panic of `execute`.
///
/// See the [module](self).
#[derive(Clone, Debug)]
pub struct RunNowExecutor {
    /// Whether it has not been shut down.
    active: Arc<AtomicBool>,
}

thread_local! {
    /// Whether this thread runs a job of such an executor. It has no destructor, so it can be read while the thread ends.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread runs a job of such an executor.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Runs a job as such an executor does.
pub(crate) fn run(job: impl FnOnce()) {
    /// Restores the former value, after a panic as well.
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }

    let _restore = Restore(INSIDE.replace(true));
    job();
}

impl RunNowExecutor {
    /// Creates an executor.
    ///
    /// ```
    /// use executors::*;
    /// run_now::RunNowExecutor::new().execute(|| println!("hello"));
    /// ```
    #[cfg_attr(
        not(feature = "defaults"),
        expect(clippy::new_without_default, reason = "it has one with the feature")
    )]
    pub fn new() -> RunNowExecutor {
        Self { active: Arc::new(AtomicBool::new(true)) }
    }

    fn meter() -> Meter {
        Meter::new(std::any::type_name::<Self>())
    }
}

/// The same as [`new`](RunNowExecutor::new).
#[cfg(feature = "defaults")]
impl Default for RunNowExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl CanExecute for RunNowExecutor {
    fn execute_job(&self, job: Box<dyn FnOnce() + Send + 'static>) {
        self.execute(job);
    }
}

impl Executor for RunNowExecutor {
    fn execute<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        // Ordering: Relaxed: the flag publishes nothing. A thread that knows of the shutdown sees it.
        if self.active.load(Ordering::Relaxed) {
            run(Self::meter().executed(job));
        } else {
            ignored();
        }
    }

    fn shutdown_async(&self) {
        if self.shutdown_borrowed().is_err() {
            log::warn!("the executor has been shut down before");
        }
    }

    fn shutdown_borrowed(&self) -> Result<(), String> {
        // Ordering: as in `execute`.
        match self.active.swap(false, Ordering::Relaxed) {
            true => Ok(()),
            false => Err("the executor has been shut down before".into()),
        }
    }

    #[cfg(feature = "produce-metrics")]
    fn register_metrics(&self) {
        Self::meter().describe_executed();
    }
}
