//! The builder's settings for the machine under a pool's threads.

use brigade_machine::{Cpus, Victims};

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
///
/// ```
/// use brigade::{Cpus, Pool};
/// # if cfg!(target_os = "linux") {
/// let background = Pool::builder().threads(1).pin(Cpus::cores()).build()?;
/// let size = background.submit(|| Pool::builder().build().map(|pool| pool.size())).join()??;
/// assert_eq!(size, Pool::builder().build()?.size(), "not 1, although that job runs on one CPU");
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
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

    /// Pins the threads to CPUs. Default: they run on all CPUs allowed to the thread that builds the pool.
    ///
    /// A pin belongs to the index of a worker, so the replacement of an ended thread has the same pin. Threads
    /// beyond [`Cpus::each`] and [`Cpus::cores`], including [spare threads](Self::spare_threads), run anywhere. The
    /// thread that builds the pool must be allowed to run on the CPUs, or be a worker of a pool whose builder was
    /// allowed to. Linux only; elsewhere [`build`](Self::build) returns an error, as it does for a list without a CPU.
    ///
    /// A pinned thread waits for its CPU even if other CPUs are idle. So don't pin two pools to the same CPUs.
    ///
    /// ```
    /// use brigade::{Cpus, Pool};
    /// # if cfg!(target_os = "linux") {
    /// let pool = Pool::builder().threads(2).pin(Cpus::cores()).build()?;
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// let error = Pool::builder().pin([1_000_000]).build().unwrap_err();
    /// assert!(error.to_string().contains("CPU 1000000"));
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "affinity")]
    #[doc(alias = "with_affinity")]
    pub fn pin(mut self, cpus: impl Into<Cpus>) -> Self {
        self.machine.pin(cpus.into());
        self
    }

    /// Sets which peers a worker steals from first. Default: [`Victims::Random`].
    ///
    /// On a machine with several memory nodes, or several caches, a job taken from a near peer has its data nearby.
    /// On a machine where all CPUs are equally near, this changes nothing and costs nothing.
    ///
    /// ```
    /// use brigade::{Pool, Victims};
    /// // Workers 0 and 1 are near each other, and worker 2 is further away.
    /// let table = vec![vec![0, 1, 9], vec![1, 0, 9], vec![9, 9, 0]];
    /// let pool = Pool::builder().threads(3).victims(Victims::ByTable(table)).build()?;
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// By the topology that the operating system reports:
    ///
    /// ```
    /// use brigade::{Cpus, Pool, Victims};
    /// # if cfg!(target_os = "linux") {
    /// let pool = Pool::builder().pin(Cpus::cores()).victims(Victims::Nearest).build()?;
    /// assert_eq!(pool.submit(|| 42).join()?, 42);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "numa")]
    #[doc(alias = "with_numa_affinity")]
    pub fn victims(mut self, victims: Victims) -> Self {
        self.machine.order(victims);
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
