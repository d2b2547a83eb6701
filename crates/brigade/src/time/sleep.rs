//! A future that is ready at a given time.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use brigade_sync::awaited::{Awaited, note};
use brigade_sync::budget::Turn;

use super::{later, start_timer, stop_timer};
use crate::engine::{At, Entry, Key, TimerKey, now, now_in, reach_on_worker};
use crate::handle::Handle;
use crate::pool::default_pool;

/// Waits for at least `duration`, measured from this call. If `duration` is too long for an [`Instant`], waits
/// forever.
///
/// With a duration of 0, the future is ready at its first poll. See [`Sleep`] for the future's pool.
///
/// ```
/// use std::time::{Duration, Instant};
/// let begun = Instant::now();
/// brigade::block_on(async {
///     brigade::time::sleep(Duration::from_millis(5)).await;
///     assert!(begun.elapsed() >= Duration::from_millis(5));
/// });
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(later(now(), duration))
}

/// Waits at least until `deadline`. If `deadline` has passed, the future is ready at its first poll. See [`Sleep`]
/// for the future's pool.
///
/// ```
/// use std::time::{Duration, Instant};
/// let pool = brigade::Pool::new(1);
/// let end = Instant::now() + Duration::from_millis(5);
/// let late = pool.spawn(async move {
///     brigade::time::sleep_until(end).await;
///     Instant::now() >= end
/// });
/// assert!(late.join()?);
/// # Ok::<(), brigade::JoinError>(())
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline)
}

/// The future of [`sleep`] and [`sleep_until`]. Dropping it removes its timer from the pool at once, and loses
/// nothing.
///
/// It belongs to the [current pool](crate::Handle::current) of the thread that polls it first, or else to the
/// [default pool](crate::default_pool), wherever it is polled later. If the pool ends while the future is awaited
/// outside of the pool, the future moves to a new pool by the same rule. Inside the pool, it is cancelled with the
/// pool's other pending futures.
///
/// # Panics
/// Its poll panics if no pool can hold the timer. Outside of a worker this happens if the default pool has been
/// [closed](crate::Handle::close), or belongs to the parent of a fork.
#[derive(Debug)]
#[must_use = "it waits when it is awaited"]
pub struct Sleep {
    at: Instant,
    state: SleepState,
    turn: Turn,
}

#[derive(Debug)]
enum SleepState {
    New,
    /// The pool with the timer, and the timer's key there.
    Set(Key, TimerKey),
    /// It has been ready.
    Over,
}

impl Sleep {
    pub(super) fn new(at: Instant) -> Self {
        Self { at, state: SleepState::New, turn: Turn::default() }
    }

    /// Returns the time at which the future is ready.
    ///
    /// ```
    /// let end = std::time::Instant::now();
    /// assert_eq!(brigade::time::sleep_until(end).deadline(), end);
    /// ```
    pub fn deadline(&self) -> Instant {
        self.at
    }

    /// Whether it has been ready.
    #[cfg(feature = "futures")]
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, SleepState::Over)
    }

    /// Sets a timer for this waker, in the current pool, or else in the default pool.
    fn arm(&mut self, waker: &Waker) {
        let set = |pool: Handle| {
            let entry = Entry::Wake(waker.clone());
            Some(SleepState::Set(pool.key, start_timer(pool.key, self.at, entry)?))
        };
        let set = Handle::current().and_then(set).or_else(|| set(default_pool().handle()));
        self.state = set.expect(
            "there is no pool to keep the time: the default pool is closed, or that of another process; await this on a \
             worker of a pool",
        );
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker();
        let now = match self.state {
            SleepState::Set(pool, timer) => {
                // A timer still set will fire, so the clock is not read.
                let wakes = |at: At<'_>| {
                    at.shared().is_some_and(|shared| shared.events.timers.wake_by(timer, waker))
                };
                if reach_on_worker(pool, wakes) {
                    note(|| Awaited::Timer(self.at));
                    return Poll::Pending;
                }
                // The timer has fired, or the pool has ended.
                self.state = SleepState::New;
                now_in(pool)
            }
            SleepState::New | SleepState::Over => now(),
        };
        if now >= self.at {
            ready!(self.turn.poll_ready(context));
            self.state = SleepState::Over;
            return Poll::Ready(());
        }
        self.arm(waker);
        note(|| Awaited::Timer(self.at));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let SleepState::Set(pool, timer) = self.state {
            drop(stop_timer(pool, timer));
        }
    }
}
