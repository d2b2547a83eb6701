//! What a user sets about the machine that a pool's threads run on.

use crate::builder::Builder;
use crate::config::Placement;
use crate::cpus::Cpus;
use crate::victims::Victims;

/// # CPUs
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

    /// Pins the threads to CPUs. Default: they run wherever the thread may that starts them.
    ///
    /// A pin belongs to the index of a worker, so it holds for a thread that takes the place of one that has ended. Threads beyond
    /// those of [`Cpus::each`] and [`Cpus::cores`], [spare ones](Self::spare_threads) among them, run anywhere. The thread that
    /// calls this must be allowed to run on the CPUs. Linux only; elsewhere [`build`](Self::build) returns an error.
    ///
    /// A thread that is pinned waits for its CPU even if others are idle. So don't pin two pools to the same CPUs.
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
        self.machine.pin(&mut self.config, &cpus.into());
        self
    }

    /// Sets from which of its peers a worker steals first. Default: [`Victims::Random`].
    ///
    /// On a machine with several memory nodes, or several caches, a job that is taken from a near peer finds its data nearer. With
    /// [`Victims::Nearest`] a worker also takes jobs from outside that threads of its own node have submitted before others. On
    /// a machine where all CPUs are equally near this changes nothing and costs nothing.
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
    /// By what the operating system reports:
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

    /// Sets the nice value of the threads: from −20, which the scheduler of the operating system prefers, to 19, for work in the
    /// background. Default: that of the thread that starts them.
    ///
    /// Values below that of the calling thread need a privilege; without it, [`build`](Self::build) returns an error of the kind
    /// [`PermissionDenied`](std::io::ErrorKind::PermissionDenied). Linux only: elsewhere a thread has no nice value of its own, and
    /// `build` returns an error.
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
        self.machine.nice(&mut self.config, nice);
        self
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use core::time::Duration;
    use std::thread;

    use brigade_sync::atomic::Ordering;
    use brigade_sync::unmodelled::AtomicUsize;
    use brigade_testkit::Watchdog;

    use super::*;
    use crate::config::Follow;
    use crate::pool::Pool;

    /// Keeps the workers busy for so long that each looks elsewhere.
    fn work(pool: &Pool) {
        (0..1000).for_each(|_| pool.execute(thread::yield_now));
        pool.wait_idle();
    }

    fn work_until(pool: &Pool, size: usize) {
        while pool.size() != (size..=size) {
            work(pool);
        }
    }

    #[test]
    fn the_default_size_follows_what_the_process_may_run_until_the_pool_is_resized() {
        let _dog = Watchdog::start(60);
        static MAY_RUN: AtomicUsize = AtomicUsize::new(2);
        let mut builder = Builder::new();
        let follow =
            Follow { read: || MAY_RUN.load(Ordering::Relaxed), every: Duration::from_millis(1) };
        builder.config.size = builder.config.size_of(2.into());
        builder.config.follow = Some(follow);
        let pool = builder.build().unwrap();
        assert_eq!(pool.size(), 2..=2);
        for size in [1, 3, 2] {
            MAY_RUN.store(size, Ordering::Relaxed);
            work_until(&pool, size);
        }
        pool.resize(4).unwrap();
        MAY_RUN.store(1, Ordering::Relaxed);
        (0..50).for_each(|_| work(&pool));
        assert_eq!(pool.size(), 4..=4);
    }

    #[test]
    fn a_size_that_was_set_follows_nothing() {
        let mut builder = Builder::new().threads(3);
        builder.config.follow = Some(Follow { read: || 1, every: Duration::ZERO });
        let pool = builder.build().unwrap();
        for _ in 0..20 {
            work(&pool);
        }
        assert_eq!(pool.size(), 3..=3);
    }
}
