//! The builder's settings for the machine under a pool's threads.

use super::Builder;
use crate::values::Placement;

/// # CPUs
///
/// On Linux, each thread begins with the CPUs, the nice value and the signal mask of the thread that builds the
/// pool, no matter which thread starts it, and when. A job's new pool gets the values of the job's own pool: the pin
/// and the nice value of the worker have no influence.
///
/// Lowering a nice value requires a privilege. Without the privilege, a thread keeps the value of the nicer thread
/// that has started it. Threads started by a [spawner](Self::spawner) itself keep their own settings.
impl Builder {
    /// Sets on which CPU a woken worker runs. Default: [`Placement::Spread`].
    ///
    /// ```
    /// use brigade::{Placement, Pool};
    /// let pool = Pool::builder().threads(2).placement(Placement::Kernel).build()?;
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn placement(mut self, placement: Placement) -> Self {
        self.config.placement = placement;
        self
    }

    /// Sets the nice value of the threads: from −20, preferred by the scheduler of the operating system, to 19, for
    /// background work. Other values are an error of [`build`](Self::build). Default: the value of the thread that
    /// builds the pool.
    ///
    /// Values below that thread's value need a privilege; without it, [`build`](Self::build) returns an error
    /// of the kind [`PermissionDenied`](std::io::ErrorKind::PermissionDenied). Linux only: on other systems a thread
    /// has no separate nice value, and `build` returns an error.
    ///
    /// ```
    /// use brigade::Pool;
    /// # if cfg!(target_os = "linux") {
    /// let background = Pool::builder().threads(1).nice(10).build()?;
    /// assert_eq!(background.submit(|| 42).join()?, 42);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn nice(mut self, nice: i32) -> Self {
        self.machine.nice(nice);
        self
    }
}
