//! The settings that observe the jobs and the workers of a pool.

use core::time::Duration;

use brigade_observe::{Outcome, Settings, Stall};

use super::Builder;

/// # Observing jobs
///
/// Each of these settings observes the jobs submitted to the pool: closures, futures, and jobs of a
/// [`TaskSet`](crate::TaskSet), of timers and of a [broadcast](crate::Handle::broadcast). Borrowing work is part of
/// the job that waits for it, and is not observed separately: forks, [installed](crate::Handle::install) calls, jobs
/// of a [`Scope`](crate::Scope). A borrowing call from a thread outside of the pool appears in a
/// [dump](crate::Handle::dump), and is reported to [`on_stall`](Self::on_stall), as a job submitted there. It has no
/// [`Outcome`] and no time in a histogram.
///
/// An observed job costs four more allocations (six with a span) and a few hundred nanoseconds:
/// `brigade-lab throughput --target brigade,brigade-outcomes` measures them. A pool without these settings pays
/// nothing.
impl Builder {
    /// Records the jobs, queued, running and pending, for [`Handle::dump`](crate::Handle::dump), and the time for which
    /// each thread is [busy](crate::WorkerMetrics::busy). The other settings here do so too.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).observe_jobs().build()?;
    /// let handle = pool.handle();
    /// let dump = pool.job().name("look").submit(move || handle.dump())?.join()?;
    /// assert_eq!(dump.workers[0].jobs[0].name.as_deref(), Some("look"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn observe_jobs(mut self) -> Self {
        self.make_observer = Some(Settings::observer);
        self
    }

    /// Records how long jobs wait and run, as histograms for [`Handle::histograms`](crate::Handle::histograms). With
    /// the feature `histograms`.
    ///
    /// A job is added when it ends: a panicked job to both histograms, a cancelled job to neither. A future waits
    /// until its first poll, and runs while it is polled. The histograms take 20 to 60 kB for each thread that has
    /// run a job.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::builder().threads(1).histograms().build()?;
    /// for _ in 0..100 {
    ///     pool.execute(|| std::thread::sleep(Duration::from_micros(10)));
    /// }
    /// pool.wait_idle();
    /// let times = pool.histograms().ok_or("it records them")?;
    /// assert_eq!((times.waiting.count(), times.running.count()), (100, 100));
    /// assert!(times.running.p50() >= Duration::from_micros(10));
    /// assert!(times.waiting.max() > times.running.p50(), "the last one waited for all others");
    /// println!("{times}"); // waiting: 100 jobs, p50 3.2ms, p99 6.5ms, max 6.5ms …
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "histograms")]
    pub fn histograms(mut self) -> Self {
        self.observe.histograms();
        self.observe_jobs()
    }

    /// Opens a span of the crate `tracing` for each job that starts: a child of the span in which the job was
    /// submitted, whatever the thread. With the feature `tracing`.
    ///
    /// It is an `info` span `job` of the target `brigade`, with the fields `name` (if the job has a name), `pool`,
    /// `place` and `worker`. It is entered while the job runs, or its future is polled, and closed when the job has
    /// ended. If the subscriber disables the span, the job is in the submitter's span instead.
    ///
    /// For [tokio-console](https://docs.rs/tokio-console) there is a second span, `runtime.spawn`, of the level `trace` and without
    /// a parent. If the subscriber enables it, events of the target `runtime::waker` report the wakers of a future. A span of this name, of
    /// brigade or tokio, is never the submitter's span.
    ///
    /// Forks, jobs of a [`Scope`](crate::Scope) and [installed](crate::Handle::install) calls are in the span of the
    /// job that waits for them, on any thread. Borrowing calls of a thread outside of the pool are in the span
    /// entered there at the call.
    ///
    /// The submitter's span stays open until the job has ended. While the job runs, the thread uses the subscriber
    /// of that span. The span of a job submitted outside of any span has no parent, and the job uses the worker's
    /// subscriber.
    ///
    /// ```
    /// use tracing::{info, info_span};
    /// let pool = brigade::Pool::builder().threads(1).trace_jobs().build()?;
    /// let request = info_span!("request", id = 7);
    /// let job = request.in_scope(|| {
    ///     pool.job().name("resize").submit(|| {
    ///         info!("done"); // In `request{id=7}:job{name="resize" …}`, if there is a subscriber.
    ///         42
    ///     })
    /// });
    /// assert_eq!(job?.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "tracing")]
    pub fn trace_jobs(mut self) -> Self {
        self.observe.spans();
        self.observe_jobs()
    }

    /// Sets a hook called with the [`Outcome`] of each job: how the job ended, where it was submitted, how long it
    /// waited and ran.
    ///
    /// The hook runs on the thread on which the job ended, before the job's handle has the outcome. It is called
    /// once for each accepted job, with two exceptions: a share of a [broadcast](crate::Handle::broadcast) that
    /// never ran, and a job still queued when the process exits. It is not called for a rejected job. Each run of a
    /// [periodic](crate::JobBuilder::every) closure counts as a job. A panic of the hook is caught and counted.
    ///
    /// The hook delays the worker, so it should do little, such as counting or sending to another thread.
    ///
    /// ```
    /// use brigade::{End, Pool};
    /// use std::sync::mpsc;
    /// let (sender, ends) = mpsc::channel();
    /// let pool = Pool::builder()
    ///     .threads(1)
    ///     .on_outcome(move |outcome| {
    ///         _ = sender.send((outcome.name.map(String::from), outcome.end, outcome.place.line()))
    ///     })
    ///     .build()?;
    /// pool.job().name("resize").execute(|| ())?; // This line is its place.
    /// assert_eq!(ends.recv()?, (Some("resize".into()), End::Returned, line!() - 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_outcome(mut self, hook: impl Fn(&Outcome<'_>) + Send + Sync + 'static) -> Self {
        self.observe.on_outcome(hook);
        self.observe_jobs()
    }

    /// Sets a hook called once for each job that has run for `after`, and for a future once for each poll that has
    /// run for `after`.
    ///
    /// The hook runs on a separate thread, because all workers may be stuck. This thread is named after the pool,
    /// and wakes when a running job reaches the limit, or once in `after`. A job counts as running from its start to
    /// its end, even while it waits for other jobs. A borrowing call of a thread outside of the pool, such as
    /// [`install`](crate::Handle::install) or [`scope`](crate::Handle::scope), counts as a job submitted there. A
    /// panic of the hook is caught.
    ///
    /// The [`Stall`] has the name of the job, the place of its submission and, on Linux, the state of the thread in
    /// the kernel. It has no backtrace, because safe code can take a backtrace only of the current thread. A
    /// debugger takes a backtrace by the thread's number (`gdb -p`, `eu-stack --tid`).
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// let (sender, stalls) = mpsc::channel();
    /// let pool = brigade::Pool::builder()
    ///     .threads(1)
    ///     .on_stall(Duration::from_millis(10), move |stall| _ = sender.send(stall.clone()))
    ///     .build()?;
    /// let (end, ends) = mpsc::channel::<()>();
    /// pool.job().name("stuck").execute(move || _ = ends.recv())?;
    /// let stall = stalls.recv()?;
    /// assert_eq!((stall.job.name.as_deref(), stall.worker), (Some("stuck"), Some(0)));
    /// println!("{stall}"); // pool brigade: stuck from src/main.rs:9:26 has run for 10.1ms on worker 0 (brigade-0): …
    /// drop(end);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `after` is 0.
    #[track_caller]
    pub fn on_stall(
        mut self,
        after: Duration,
        hook: impl Fn(&Stall) + Send + Sync + 'static,
    ) -> Self {
        assert!(!after.is_zero(), "a job must be allowed to run for some time");
        self.observe.on_stall(after, hook);
        self.observe_jobs()
    }
}
