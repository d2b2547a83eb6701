//! Periodic ticks for a future.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::sleep::Sleep;
use super::{Missed, NO_PERIOD, later};
use crate::engine::now;

/// Creates an interval that ticks every `period`, for the first time one period after this call.
///
/// Ticks not awaited in time are [skipped](Missed::Skip), unless [`missed`](Interval::missed) sets a different
/// policy.
///
/// # Panics
/// If the period is 0.
///
/// # Examples
/// ```
/// use std::time::{Duration, Instant};
/// let period = Duration::from_millis(2);
/// let begun = Instant::now();
/// brigade::block_on(async {
///     let mut interval = brigade::time::interval(period);
///     let first = interval.tick().await;
///     assert!(first >= begun + period);
///     assert!(interval.tick().await >= first + period);
/// });
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(later(now(), period), period)
}

/// Creates an interval that ticks every `period`, for the first time at `start`; otherwise like [`interval`].
///
/// # Panics
/// If the period is 0.
///
/// # Examples
/// ```
/// use std::time::{Duration, Instant};
/// let (now, period) = (Instant::now(), Duration::from_millis(2));
/// brigade::block_on(async {
///     let mut interval = brigade::time::interval_at(now, period);
///     assert_eq!(interval.tick().await, now, "at once");
///     assert!(interval.tick().await >= now + period);
/// });
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "{NO_PERIOD}");
    Interval { sleep: Sleep::new(start), has_ticked: false, period, missed: Missed::default() }
}

/// Periodic ticks; created by [`interval`] and [`interval_at`]. Between two ticks it belongs to a pool like a
/// [`Sleep`].
///
/// With the feature `futures` it is an endless `Stream`.
#[derive(Debug)]
#[must_use = "it ticks when it is awaited"]
pub struct Interval {
    /// Ready at the next tick, or at the last tick if it has been returned.
    sleep: Sleep,
    /// Whether the tick of `sleep` has been returned. The next tick is computed when it is awaited, because the last
    /// tick has ended by then.
    has_ticked: bool,
    period: Duration,
    missed: Missed,
}

impl Interval {
    /// Sets what happens to ticks not awaited in time.
    ///
    /// ```
    /// use brigade::{Missed, time};
    /// use std::time::{Duration, Instant};
    /// let period = Duration::from_millis(1);
    /// brigade::block_on(async {
    ///     let mut interval = time::interval(period).missed(Missed::Burst);
    ///     time::sleep(period * 4).await;
    ///     let first = interval.tick().await;
    ///     assert_eq!(interval.tick().await, first + period, "late, and at once");
    ///     assert_eq!(interval.tick().await, first + period * 2);
    /// });
    /// ```
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// Returns the time from one tick to the next.
    ///
    /// ```
    /// use brigade::time::interval;
    /// use std::time::Duration;
    /// assert_eq!(interval(Duration::from_secs(1)).period(), Duration::from_secs(1));
    /// ```
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Waits for the next tick, and returns the time at which it was due.
    ///
    /// A tick lasts from its return to the next call: [`Missed`] counts from the time of this call. So a loop whose
    /// body takes longer than the period still waits in each call, except with [`Missed::Burst`].
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, no tick has been consumed.
    ///
    /// # Panics
    /// As for polling a [`Sleep`].
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|context| self.poll_tick(context)).await
    }

    /// Polls for the next tick, in hand-written futures; otherwise like [`tick`](Self::tick).
    ///
    /// # Panics
    /// As for polling a [`Sleep`].
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        if core::mem::take(&mut self.has_ticked) {
            let next = self.missed.next(self.sleep.deadline(), self.period, now());
            self.sleep = Sleep::new(next);
        }
        ready!(Pin::new(&mut self.sleep).poll(context));
        self.has_ticked = true;
        Poll::Ready(self.sleep.deadline())
    }
}
