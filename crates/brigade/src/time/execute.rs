//! Submission of closures that run at a given time.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use super::schedule::{Action, Again, Every, Once, Schedule};
use super::timer::Timer;
use super::{Missed, NO_PERIOD, later};
use crate::default_pool::here;
use crate::handle::Handle;
use crate::pool::{Pool, expect_accepted};
use crate::registry::reach;
use crate::rejected::Rejected;

impl Handle {
    /// Runs a closure once, when `delay` has passed, and not earlier; a time too far to be represented never comes. One
    /// allocation.
    ///
    /// Until then the closure is no job: it does not count towards a [capacity](crate::Builder::capacity) or in the
    /// [counters](crate::Pool::metrics), and [`wait_idle`](crate::Pool::wait_idle) does not wait for it. When its time has
    /// come it is accepted as a job, even if the pool is full, and a worker runs it in its turn.
    ///
    /// A pool that is closed, shut down or dropped does not wait for timers. A closure that is not due by then is cancelled,
    /// and its captures are dropped at once. A closure that is queued already runs like any other job.
    ///
    /// # Errors
    /// Returns the closure if the pool has been closed, shut down or dropped, also to a job of its own. Also if it has no
    /// thread and can't start one, or belongs to a process that this one was forked from.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::{Duration, Instant};
    /// let pool = brigade::Pool::new(1);
    /// let ((sender, receiver), begun) = (mpsc::channel(), Instant::now());
    /// let wait = Duration::from_millis(5);
    /// let timer = pool.handle().execute_after(wait, move || sender.send(42).unwrap())?;
    /// assert_eq!(receiver.recv(), Ok(42));
    /// assert!(begun.elapsed() >= wait && !timer.cancel());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute_after<F>(&self, delay: Duration, job: F) -> Result<Timer, Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.execute_at(later(Instant::now(), delay), job)
    }

    /// Runs a closure once, at `deadline`, and not earlier; at once, on a worker, if that has passed. Otherwise as
    /// [`execute_after`](Self::execute_after).
    ///
    /// # Errors
    /// As for [`execute_after`](Self::execute_after).
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::{Duration, Instant};
    /// let pool = brigade::Pool::new(1);
    /// let (sender, receiver) = mpsc::channel();
    /// let time = Instant::now() + Duration::from_millis(2);
    /// pool.handle().execute_at(time, move || sender.send(Instant::now()).unwrap())?;
    /// assert!(receiver.recv()? >= time);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute_at<F>(&self, deadline: Instant, job: F) -> Result<Timer, Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.schedule(deadline, Again::Never, Once(Some(job))).map_err(|Once(job)| match job {
            Some(job) => reach(self.key, |at| at.rejected(job)),
            None => unreachable!("it has not run"),
        })
    }

    /// Runs a closure every `period`, for the first time when one has passed, until it is [cancelled](Timer::cancel) or the
    /// pool is closed. One allocation for all runs.
    ///
    /// A run begins when the one before it has ended; [`Missed`] says what happens to those that were due meanwhile. A panic
    /// of a run is handled as that of any [job](crate::OnPanic), its message is kept as [`last_error`](Timer::last_error),
    /// and the next run comes at its time.
    ///
    /// Each run is a job from the moment it is due, and ends with the pool, as for [`execute_after`](Self::execute_after).
    /// After the pool has been closed there is no further run but the one that is queued or running.
    ///
    /// # Errors
    /// As for [`execute_after`](Self::execute_after).
    ///
    /// # Panics
    /// If the period is 0.
    ///
    /// ```
    /// use brigade::{Missed, Pool};
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// let pool = Pool::new(1);
    /// let (sender, receiver) = mpsc::channel();
    /// let mut count = 0;
    /// let tick = move || {
    ///     count += 1;
    ///     _ = sender.send(count);
    /// };
    /// let timer = pool.handle().execute_every(Duration::from_millis(1), Missed::Skip, tick)?;
    /// assert!(receiver.iter().take(3).eq(1..=3));
    /// timer.cancel();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute_every<F>(
        &self,
        period: Duration,
        missed: Missed,
        job: F,
    ) -> Result<Timer, Rejected<F>>
    where
        F: FnMut() + Send + 'static,
    {
        assert!(!period.is_zero(), "{NO_PERIOD}");
        let first = later(Instant::now(), period);
        self.schedule(first, Again::Every(period, missed), Every(job))
            .map_err(|Every(job)| reach(self.key, |at| at.rejected(job)))
    }

    fn schedule<A: Action>(self, at: Instant, again: Again, action: A) -> Result<Timer, A> {
        let schedule: Arc<Schedule<A>> = Schedule::begin(self.key, at, again, action)?;
        Ok(Timer::new(schedule, self.key))
    }
}

impl Pool {
    /// Runs a closure once, when `delay` has passed, and not earlier; see [`Handle::execute_after`], also for what happens to
    /// it when the pool ends first.
    ///
    /// # Panics
    /// If the pool has no thread and can't start one, which is possible only if the core size is 0 or [may time
    /// out](crate::Builder::allow_core_timeout). Likewise if it was [closed](Self::close), and in a forked child. A
    /// [`handle`](Self::handle) returns the closure instead.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let timer = pool.execute_after(Duration::MAX, || unreachable!("never"));
    /// drop(pool);
    /// assert!(timer.is_over());
    /// ```
    #[track_caller]
    pub fn execute_after<F>(&self, delay: Duration, job: F) -> Timer
    where
        F: FnOnce() + Send + 'static,
    {
        expect_accepted(self.handle().execute_after(delay, job))
    }

    /// Runs a closure once, at `deadline`, and not earlier; see [`Handle::execute_at`].
    ///
    /// # Panics
    /// As [`execute_after`](Self::execute_after).
    #[track_caller]
    pub fn execute_at<F>(&self, deadline: Instant, job: F) -> Timer
    where
        F: FnOnce() + Send + 'static,
    {
        expect_accepted(self.handle().execute_at(deadline, job))
    }

    /// Runs a closure every `period`, for the first time when one has passed, until it is [cancelled](Timer::cancel) or the
    /// pool is closed; see [`Handle::execute_every`].
    ///
    /// # Panics
    /// If the period is 0, and as [`execute_after`](Self::execute_after).
    ///
    /// ```
    /// use brigade::{Missed, Pool};
    /// use std::time::Duration;
    /// let pool = Pool::new(1);
    /// let timer = pool.execute_every(Duration::from_millis(1), Missed::Skip, || ());
    /// while timer.ticks() < 3 {
    ///     std::thread::yield_now();
    /// }
    /// assert!(timer.cancel());
    /// ```
    #[track_caller]
    pub fn execute_every<F>(&self, period: Duration, missed: Missed, job: F) -> Timer
    where
        F: FnMut() + Send + 'static,
    {
        expect_accepted(self.handle().execute_every(period, missed, job))
    }
}

/// Runs a closure once, when `delay` has passed, on the pool of the worker that this is called on, elsewhere on the
/// [`default_pool`](crate::default_pool); see [`Handle::execute_after`].
///
/// # Errors
/// As for [`Handle::execute_after`].
///
/// ```
/// use std::{sync::mpsc, time::Duration};
/// let (sender, receiver) = mpsc::channel();
/// let timer = brigade::execute_after(Duration::from_millis(1), move || sender.send(42).unwrap())?;
/// assert_eq!(receiver.recv(), Ok(42));
/// # drop(timer);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn execute_after<F>(delay: Duration, job: F) -> Result<Timer, Rejected<F>>
where
    F: FnOnce() + Send + 'static,
{
    here().execute_after(delay, job)
}

/// Runs a closure once, at `deadline`, on the pool that [`execute_after`] takes; see [`Handle::execute_at`].
///
/// # Errors
/// As for [`Handle::execute_after`].
pub fn execute_at<F>(deadline: Instant, job: F) -> Result<Timer, Rejected<F>>
where
    F: FnOnce() + Send + 'static,
{
    here().execute_at(deadline, job)
}

/// Runs a closure every `period`, on the pool that [`execute_after`] takes; see [`Handle::execute_every`].
///
/// # Errors
/// As for [`Handle::execute_after`].
///
/// # Panics
/// If the period is 0.
pub fn execute_every<F>(period: Duration, missed: Missed, job: F) -> Result<Timer, Rejected<F>>
where
    F: FnMut() + Send + 'static,
{
    here().execute_every(period, missed, job)
}
