//! Jobs for the executor of the calling job.

use brigade_executor::{ExecutorExt, Inline};

use crate::run_now;

/// Runs a job on the executor whose job the calling thread runs; returns it on any other thread.
///
/// On a worker of the work-stealing pool it goes to the worker's own queue. In a job of the [`run_now`] executor it runs at
/// once, or, in a job that was submitted so itself, after the outer job: nested submissions don't fill the stack.
///
/// # Errors
/// Returns the job if the calling thread runs none of an executor.
///
/// # Examples
/// ```
/// # #[cfg(feature = "workstealing-exec")] {
/// use executors::*;
/// use executors::crossbeam_workstealing_pool::small_pool;
/// use std::sync::mpsc::{Sender, channel};
///
/// fn count(left: u32, told: Sender<u32>) {
///     told.send(left).unwrap();
///     if left > 0 {
///         assert!(try_execute_locally(move || count(left - 1, told)).is_ok());
///     }
/// }
///
/// let (told, tells) = channel();
/// let pool = small_pool(2);
/// pool.execute(move || count(10, told));
/// assert_eq!(tells.iter().count(), 11);
///
/// assert!(try_execute_locally(|| ()).is_err(), "no executor's job");
/// # }
/// ```
pub fn try_execute_locally<F>(f: F) -> Result<(), F>
where
    F: FnOnce() + Send + 'static,
{
    if !run_now::is_inside() {
        return brigade::try_execute_locally(f).map_err(|rejected| rejected.into_inner());
    }
    if let Err(rejected) = Inline.try_execute(move || run_now::run(f)) {
        // In a destructor of the thread's locals there is no queue any more.
        (rejected.into_inner())();
    }
    Ok(())
}
