//! The builder's settings for the CPUs of the workers.

use brigade_machine::{Cpus, Topology, Victims};

use super::Builder;
use super::machine::invalid;

impl Builder {
    /// Pins the threads to CPUs. Default: they run on all CPUs allowed to the thread that builds the pool. Requires the
    /// feature `affinity`.
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
    ///
    /// A job's new pool gets the CPUs of the thread that built the job's pool, not those of the worker:
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
    #[doc(alias = "affinity")]
    #[doc(alias = "with_affinity")]
    pub fn pin(mut self, cpus: impl Into<Cpus>) -> Self {
        let cpus = cpus.into();
        self.machine.pins = Some(Box::new(move |config| {
            config.pins = cpus.resolve()?;
            Ok(())
        }));
        self
    }

    /// Sets which peers a worker steals from first. Default: [`Victims::Random`]. Requires the feature `affinity`.
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
        self.machine.victims = Some(Box::new(move |config| {
            // Reading the topology takes a while.
            let resolved = victims.resolve(&config.pins, &Topology::of_this_machine());
            config.neighbours = resolved.map_err(invalid)?;
            Ok(())
        }));
        self
    }
}
