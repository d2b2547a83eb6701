//! Submission of closures that run at a given time.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::panic::Location;
use std::time::{Duration, Instant};

use brigade_task::Callable;

use super::large::box_if_large;
use super::schedule::{many, once, schedule};
use super::sleep::{Sleep, sleep_until};
use super::timer::Timer;
use super::{Missed, NO_PERIOD, later};
use crate::engine::now_in;
use crate::handle::JoinHandle;
use crate::pool::job;
use crate::submission::JobBuilder;
use crate::values::{Rejected, expect_accepted};

impl JobBuilder {
    /// Delays the closure by `delay`: it does not run earlier. If the delay is too long for an [`Instant`], the
    /// closure never runs.
    ///
    /// # Panics
    /// If a deadline was set: a timed job has no deadline.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::{Duration, Instant};
    /// let pool = brigade::Pool::new(1);
    /// let ((sender, receiver), begun) = (mpsc::channel(), Instant::now());
    /// let wait = Duration::from_millis(5);
    /// let timer = pool.job().after(wait).execute(move || _ = sender.send(42))?;
    /// assert_eq!(receiver.recv(), Ok(42));
    /// assert!(begun.elapsed() >= wait && !timer.cancel());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "delay")]
    #[track_caller]
    pub fn after(self, delay: Duration) -> DelayedJob {
        let now = now_in(self.key);
        self.at(later(now, delay))
    }

    /// Delays the closure until `time`: it does not run earlier. If `time` has passed, a worker runs the closure at
    /// once.
    ///
    /// # Panics
    /// If a deadline was set: a timed job has no deadline.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let pool = brigade::Pool::new(1);
    /// let time = Instant::now() + Duration::from_millis(2);
    /// let started = pool.job().at(time).submit(Instant::now)?;
    /// assert!(started.join()? >= time);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn at(self, time: Instant) -> DelayedJob {
        self.assert_no_deadline();
        DelayedJob { job: self, time }
    }

    /// Repeats the closure every `period`; it first runs after a period.
    ///
    /// # Panics
    /// If the period is 0, or a deadline was set.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let (sender, receiver) = mpsc::channel();
    /// let mut count = 0;
    /// let timer = pool.job().every(Duration::from_millis(1)).execute(move || {
    ///     count += 1;
    ///     _ = sender.send(count);
    /// })?;
    /// assert!(receiver.iter().take(3).eq(1..=3));
    /// timer.cancel();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn every(self, period: Duration) -> PeriodicJob {
        self.assert_no_deadline();
        assert!(!period.is_zero(), "{NO_PERIOD}");
        PeriodicJob { job: self, period, missed: Missed::default() }
    }

    #[track_caller]
    fn assert_no_deadline(&self) {
        let has_deadline = self.options.deadline.is_some();
        assert!(!has_deadline, "a deadline can't be combined with `after`, `at` or `every`");
    }
}

/// Submits a closure that runs at a given time; created by [`JobBuilder::after`] and [`JobBuilder::at`].
///
/// Until then the closure is not a job: neither the [capacity](crate::Builder::capacity) nor the
/// [counters](crate::Handle::metrics) include it, and [`wait_idle`](crate::Handle::wait_idle) does not wait for it.
/// When due, it is accepted as a job, even if the pool is full, and a worker runs it in turn.
///
/// A closed or dropped pool does not wait for timers. A closure not yet due is cancelled, and its captures are
/// dropped at once; [`Shutdown::Finish`](crate::Shutdown::Finish) waits for it. A closure already queued runs
/// like any other job.
///
/// ```
/// use std::time::Duration;
/// let pool = brigade::Pool::new(1);
/// let timer = pool.job().after(Duration::MAX).execute(|| unreachable!("never"))?;
/// drop(pool);
/// assert!(timer.is_over());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "it submits nothing until one of its verbs is called"]
pub struct DelayedJob {
    job: JobBuilder,
    time: Instant,
}

impl DelayedJob {
    /// Submits a closure that runs once, and returns a [`Timer`] to cancel it. One allocation.
    ///
    /// # Errors
    /// Returns the closure if the pool has been closed or dropped, even to a job of this pool. Also returns it if
    /// the pool has no thread and can't start a thread, or belongs to the parent of a fork.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let timer = pool.job().after(Duration::from_secs(60)).execute(|| ())?;
    /// assert!(timer.cancel());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn execute<F: Callable + Send + 'static>(self, job: F) -> Result<Timer, Rejected<F>> {
        let (Self { job: builder, time }, place) = (self, Location::caller());
        box_if_large!(job: F => schedule(builder, place, time, None, once, job))
    }

    /// Submits a closure that runs once, and returns a handle for its outcome.
    ///
    /// The closure is spawned as a [future](JobBuilder::spawn) that sleeps until the given time. So it is a job from
    /// now on, and [cancelling](JoinHandle::cancel) it always succeeds until it has ended.
    ///
    /// # Errors
    /// As for [`JobBuilder::execute`].
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let answer = pool.job().after(Duration::from_millis(1)).submit(|| 42)?;
    /// assert_eq!(answer.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn submit<F, T>(self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        let Self { job: builder, time } = self;
        let delayed = Delayed { sleep: sleep_until(time), job: Some(job) };
        let job = |delayed: Delayed<F>| delayed.job.expect("it has not run");
        builder.spawn(delayed).map_err(|rejected| rejected.map(job))
    }
}

/// A future that sleeps and then runs a closure.
struct Delayed<F> {
    sleep: Sleep,
    job: Option<F>,
}

impl<F> Unpin for Delayed<F> {}

impl<F: FnOnce() -> T, T> Future for Delayed<F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        ready!(Pin::new(&mut self.sleep).poll(context));
        let job = self.job.take().expect("polled after it was ready");
        Poll::Ready(job())
    }
}

/// Submits a closure that runs periodically; created by [`JobBuilder::every`].
///
/// Runs never overlap; [`Missed`] decides what happens to runs that fall due during a run. A panic of a run is
/// handled like a panic of any [job](crate::OnPanic), the message is available as [`last_error`](Timer::last_error),
/// and the next run is not affected.
///
/// Each run is a job from the moment it is due. Once the pool is closed, only a queued or running run still takes
/// place.
///
/// ```
/// use brigade::{Missed, Pool};
/// use std::time::Duration;
/// let pool = Pool::new(1);
/// let timer = pool.job().every(Duration::from_millis(1)).missed(Missed::Delay).execute(|| ())?;
/// while timer.ticks() < 3 {
///     std::thread::yield_now();
/// }
/// assert!(timer.cancel());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "it submits nothing until `execute` is called"]
pub struct PeriodicJob {
    job: JobBuilder,
    period: Duration,
    missed: Missed,
}

impl PeriodicJob {
    /// Sets what happens to runs that fall due during a run. Default: [`Missed::Skip`].
    ///
    /// ```
    /// use brigade::{Missed, Pool};
    /// use std::time::Duration;
    /// let pool = Pool::new(1);
    /// let timer = pool.job().every(Duration::from_secs(1)).missed(Missed::Burst).execute(|| ())?;
    /// assert_eq!(timer.ticks(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// Submits a closure that runs periodically until it is [cancelled](Timer::cancel) or the pool is closed. One allocation
    /// for all runs.
    ///
    /// # Errors
    /// As for [`DelayedJob::execute`].
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let timer = pool.job().every(Duration::from_secs(1)).execute(|| println!("a second"))?;
    /// timer.cancel();
    /// assert!(timer.is_over());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn execute<F: FnMut() + Send + 'static>(self, job: F) -> Result<Timer, Rejected<F>> {
        let (Self { job: builder, period, missed }, place) = (self, Location::caller());
        let (first, again) = (later(now_in(builder.key), period), Some((period, missed)));
        box_if_large!(job: F => schedule(builder, place, first, again, many, job))
    }
}

/// Runs a closure once, after `delay`, on the pool that [`execute`](crate::execute()) uses; see [`JobBuilder::after`].
///
/// On the default pool, it does not run if the process ends before.
///
/// # Panics
/// As for [`execute`](crate::execute()).
///
/// # Examples
/// ```
/// use std::{sync::mpsc, time::Duration};
/// let (sender, receiver) = mpsc::channel();
/// brigade::execute_after(Duration::from_millis(1), move || _ = sender.send(42));
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
#[track_caller]
pub fn execute_after<F: Callable + Send + 'static>(delay: Duration, closure: F) -> Timer {
    expect_accepted(job().after(delay).execute(closure))
}

/// Runs a closure once, at `time`, on the pool that [`execute`](crate::execute()) uses; see [`JobBuilder::at`].
///
/// # Panics
/// As for [`execute`](crate::execute()).
///
/// # Examples
/// ```
/// use std::{sync::mpsc, time::Instant};
/// let (sender, receiver) = mpsc::channel();
/// brigade::execute_at(Instant::now(), move || _ = sender.send(42));
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
#[track_caller]
pub fn execute_at<F: Callable + Send + 'static>(time: Instant, closure: F) -> Timer {
    expect_accepted(job().at(time).execute(closure))
}

/// Runs a closure every `period`, for the first time after a period, on the pool that [`execute`](crate::execute()) uses; see
/// [`JobBuilder::every`].
///
/// # Panics
/// If the period is 0, and as for [`execute`](crate::execute()).
///
/// # Examples
/// ```
/// use std::{sync::mpsc, time::Duration};
/// let (sender, receiver) = mpsc::channel();
/// let timer = brigade::execute_every(Duration::from_millis(1), move || _ = sender.send("tick"));
/// assert_eq!(receiver.iter().take(3).count(), 3);
/// timer.cancel();
/// ```
#[track_caller]
pub fn execute_every<F: FnMut() + Send + 'static>(period: Duration, closure: F) -> Timer {
    expect_accepted(job().every(period).execute(closure))
}

/// Runs a closure once, after `delay`, on the pool that [`execute`](crate::execute()) uses, and returns a handle for its
/// outcome; see [`DelayedJob::submit`].
///
/// # Panics
/// As for [`execute`](crate::execute()).
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let answer = brigade::submit_after(Duration::from_millis(1), || 42);
/// assert_eq!(answer.join()?, 42);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[track_caller]
pub fn submit_after<F, T>(delay: Duration, closure: F) -> JoinHandle<T>
where
    F: Callable<T> + Send + 'static,
    T: Send + 'static,
{
    expect_accepted(job().after(delay).submit(closure))
}
