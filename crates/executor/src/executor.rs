//! Executors of closures.

use std::rc::Rc;
use std::sync::Arc;

use crate::rejected::Rejected;

/// A closure to run.
pub type Job = Box<dyn FnOnce() + Send>;

/// Runs closures: on a pool's threads, on another thread, or at once.
///
/// References, boxes and reference counts of executors are executors. [`ExecutorExt`] has the methods to call.
///
/// # Implementing
/// An accepted job must be run once, or dropped if the executor is discarded. It may panic, and may call the executor.
/// `accept` may run the job itself.
pub trait Executor {
    /// Accepts a job.
    ///
    /// # Errors
    /// Returns the job if the executor does not accept it.
    fn accept(&self, job: Job) -> Result<(), Job>;

    /// The same for an unboxed closure. An executor that need not box it overrides this.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    fn accept_closure<F>(&self, job: F) -> Result<(), Job>
    where
        F: FnOnce() + Send + 'static,
        Self: Sized,
    {
        self.accept(Box::new(job))
    }
}

/// The methods of every [`Executor`], a `dyn Executor` included.
pub trait ExecutorExt: Executor {
    /// Runs a closure on the executor.
    ///
    /// # Panics
    /// If the executor does not accept it. [`try_execute`](Self::try_execute) returns it instead.
    ///
    /// # Examples
    /// ```
    /// use brigade_executor::{Executor, ExecutorExt, Inline};
    /// fn greet(executor: &dyn Executor) {
    ///     executor.execute(|| println!("hello"));
    /// }
    /// greet(&Inline);
    /// ```
    #[track_caller]
    fn execute<F: FnOnce() + Send + 'static>(&self, job: F) {
        if let Err(rejected) = self.try_execute(job) {
            panic!("{rejected}");
        }
    }

    /// Runs a closure on the executor, or returns it.
    ///
    /// # Errors
    /// If the executor does not accept it.
    fn try_execute<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Rejected<Job>>;
}

impl<E: Executor> ExecutorExt for E {
    #[inline]
    fn try_execute<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Rejected<Job>> {
        self.accept_closure(job).map_err(Rejected::new)
    }
}

/// Implements the methods for trait objects, which are types of their own with each set of auto traits.
macro_rules! for_objects {
    ($($object:ty)*) => {$(
        impl ExecutorExt for $object {
            fn try_execute<F>(&self, job: F) -> Result<(), Rejected<Job>>
            where
                F: FnOnce() + Send + 'static,
            {
                self.accept(Box::new(job)).map_err(Rejected::new)
            }
        }
    )*};
}

for_objects! {
    dyn Executor + '_
    dyn Executor + Send + '_
    dyn Executor + Sync + '_
    dyn Executor + Send + Sync + '_
}

/// Implements the trait for pointers.
macro_rules! for_pointers {
    ($($pointer:ty)*) => {$(
        impl<E: Executor + ?Sized> Executor for $pointer {
            fn accept(&self, job: Job) -> Result<(), Job> {
                (**self).accept(job)
            }
        }
    )*};
}

for_pointers!(&E Box<E> Arc<E> Rc<E>);
