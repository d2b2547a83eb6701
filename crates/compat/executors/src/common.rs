//! The traits of executors.

/// Runs boxed jobs: the part of an [`Executor`] that works behind `&dyn CanExecute`.
pub trait CanExecute {
    /// Runs a job on the executor; see [`Executor::execute`].
    ///
    /// ```
    /// use executors::CanExecute;
    /// use executors::run_now::RunNowExecutor;
    /// fn greet(executor: &dyn CanExecute) {
    ///     executor.execute_job(Box::new(|| println!("hello")));
    /// }
    /// greet(&RunNowExecutor::new());
    /// ```
    fn execute_job(&self, job: Box<dyn FnOnce() + Send + 'static>);
}

/// Runs jobs. Clones are the same executor.
pub trait Executor: CanExecute + Clone + Send {
    /// Runs a job on the executor, once. After a shutdown the job is dropped, and the log has a warning.
    ///
    /// ```
    /// use executors::*;
    /// fn greet(executor: &impl Executor) {
    ///     for name in ["Ada", "Grace"] {
    ///         executor.execute(move || println!("hello {name}"));
    ///     }
    /// }
    /// greet(&run_now::RunNowExecutor::new());
    /// ```
    fn execute<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.execute_job(Box::new(job));
    }

    /// Shuts the executor down, without a wait. May be called from a job of the executor.
    ///
    /// Jobs submitted before still run.
    ///
    /// ```
    /// # #[cfg(feature = "cb-channel-exec")] {
    /// use executors::*;
    /// use executors::crossbeam_channel_pool::ThreadPool;
    /// let pool = ThreadPool::new(1);
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let own = pool.clone();
    /// pool.execute(move || {
    ///     own.shutdown_async();
    ///     own.execute(move || sender.send("too late").unwrap());
    /// });
    /// assert!(receiver.recv().is_err());
    /// # }
    /// ```
    fn shutdown_async(&self);

    /// Shuts the executor down, and waits until the jobs and the threads have ended.
    ///
    /// # Errors
    /// If it has been shut down before, if the jobs have not ended in the time allowed by the executor, and in a job of the
    /// executor, which would wait for itself.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "cb-channel-exec")] {
    /// use executors::*;
    /// use executors::crossbeam_channel_pool::ThreadPool;
    /// let pool = ThreadPool::new(1);
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.execute(move || sender.send("hello").unwrap());
    /// let clone = pool.clone();
    /// assert_eq!(pool.shutdown(), Ok(()));
    /// assert_eq!(receiver.try_recv(), Ok("hello"));
    /// assert!(clone.shutdown().is_err(), "again");
    /// # }
    /// ```
    fn shutdown(self) -> Result<(), String> {
        self.shutdown_borrowed()
    }

    /// Does the same as [`shutdown`](Self::shutdown), by reference.
    ///
    /// # Errors
    /// As for [`shutdown`](Self::shutdown).
    fn shutdown_borrowed(&self) -> Result<(), String>;

    /// Describes the metrics of the executor to the program's recorder.
    #[cfg(feature = "produce-metrics")]
    fn register_metrics(&self);
}

/// Tells the log of a dropped job.
#[cold]
pub(crate) fn ignored() {
    log::warn!("a job is ignored, as its executor has been shut down");
}
