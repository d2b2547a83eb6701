//! Timers: waiting for a time, and running closures at a time.
//!
//! Timers belong to a pool: the pool's threads run them, and idle threads sleep until the next deadline. So a
//! waiting pool uses no CPU time.
//!
//! - For futures: [`sleep`], [`sleep_until`], [`interval`] and [`timeout`]. Each belongs to the [current
//!   pool](crate::Handle::current) of the thread that polls it first. Without a current pool, as in
//!   [`block_on`](crate::block_on) on the main thread, it belongs to the [`default_pool`](crate::default_pool).
//! - For closures: [`execute_after`], [`execute_at`], [`execute_every`] and [`submit_after`], and for a given pool
//!   [`pool.job()`](crate::Handle::job) with [`after`](crate::JobBuilder::after), [`at`](crate::JobBuilder::at) or
//!   [`every`](crate::JobBuilder::every). `execute` returns a [`Timer`], which can cancel the closure.
//!
//! A timer never fires early. On an idle thread it fires less than a millisecond late, and usually less than 0.1 ms.
//! If the thread responsible for a timer is in a long job, another idle thread fires the timer up to 2 ms late; an
//! I/O event may be up to 16 ms late. If at least four timers lie within 0.9 ms, an idle thread fires them together,
//! up to 0.9 ms late, because each wake-up would cost more than the timer.
//!
//! A busy thread checks timers between two jobs, by default after 61 jobs or about 100 µs, whichever comes first, and after a
//! sleep not before the sixteenth job ([`fairness`](crate::Builder::fairness)). A job woken by a timer is then queued like any other. `brigade-lab busy-io`
//! measures the delay: beside 4 chains of 200 µs jobs on 2 threads a timer is 0.45 ms late at the median and 2.2 ms
//! at most (tokio: 12 and 45 ms).
//!
//! # Operations that are always ready
//!
//! A future is polled until it waits. A future whose operations are always ready, such as reads from a socket with a
//! fast peer, would never release its thread. So after 64 ready operations in a single poll, the next operation
//! yields as [`yield_now`](crate::yield_now) does. This applies to each future and `poll_` method of `brigade::io` and
//! `brigade::io::fs`, whether it succeeds or fails, to timers, and to the `.await` of a
//! [`JoinHandle`](crate::JoinHandle), a [`TaskSet`](crate::TaskSet) or a [reservation](crate::JobBuilder::reserve), in
//! tasks of a pool and in [`block_on`](crate::block_on). Channels and locks of other crates do not count, and under a
//! foreign executor there is no limit.
//!
//! An operation yields only once, so a time limit ends a loop however many operations are ready in each poll.
//!
//! An operation also yields if its future has been [cancelled](crate::JoinHandle::cancel), or its pool is being
//! [discarded](crate::Shutdown::Discard): the future is dropped at this point. A call that is inside
//! [`blocking`](crate::blocking()) by then finishes first, and its result is dropped.
//!
//! # The clock
//!
//! Time is measured by [`Instant`]: setting the time of day does not affect timers. Whether the clock counts the
//! time during which the machine is suspended depends on the system (on Linux it does not).
//!
//! ```
//! use std::time::{Duration, Instant};
//! let pool = brigade::Pool::new(1);
//! let begun = Instant::now();
//! let both = pool.spawn(async {
//!     let slow = brigade::time::timeout(Duration::from_millis(2), std::future::pending::<()>());
//!     assert!(slow.await.is_err());
//!     brigade::time::sleep(Duration::from_millis(3)).await;
//! });
//! both.join()?;
//! assert!(begun.elapsed() >= Duration::from_millis(5));
//! # Ok::<(), brigade::JoinError>(())
//! ```
//!
//! # Tests
//!
//! With the feature `test-util`, a `LocalPool::paused` has a virtual clock. Instead of sleeping, the pool moves the
//! clock to the next timer, so a test that sleeps for a week ends at once. `time::advance` moves the clock by hand.
//! Code under test reads the time by [`now`].

// This module must not know scopes and sets.

#[cfg(feature = "test-util")]
mod advance;
mod execute;
#[cfg(feature = "hyper")]
mod hyper_timer;
mod interval;
mod large;
mod schedule;
mod sleep;
mod timeout;
mod timer;

use std::time::{Duration, Instant};

use crate::engine::{Entry, FAR, Key, TimerKey, reach_on_worker};

pub use crate::engine::now;
#[cfg(feature = "test-util")]
pub use advance::advance;
pub use execute::{
    DelayedJob, PeriodicJob, execute_after, execute_at, execute_every, submit_after,
};
#[cfg(feature = "hyper")]
pub use hyper_timer::HyperTimer;
pub use interval::{Interval, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};
pub use timer::Timer;

/// What happens to ticks that fall due during a tick, or while no tick is awaited.
///
/// Ticks never overlap. For example, a tick is due every 10 ms, and the tick at 10 ms ends at 37 ms. Then the next
/// ticks come at 40, 50, 60 with `Skip`; at 47, 57, 67 with `Delay`; at once, at once, 40 with `Burst`.
///
/// ```
/// use brigade::Missed;
/// use std::time::Duration;
/// let pool = brigade::Pool::new(2);
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let every = pool.job().every(Duration::from_millis(1)).missed(Missed::Delay);
/// let timer = every.execute(move || _ = sender.send("a tick"))?;
/// assert_eq!(receiver.iter().take(3).count(), 3);
/// assert!(timer.cancel());
/// receiver.iter().for_each(drop); // Ends, as the closure has been dropped.
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "MissedTickBehavior")]
pub enum Missed {
    /// They are skipped: the next tick comes a whole number of periods after the first. The default.
    #[default]
    Skip,
    /// They are delayed: the next tick comes a period after the end of the late tick, and all later ticks move with it.
    Delay,
    /// They are caught up on, directly after each other, until none is missing.
    Burst,
}

impl Missed {
    /// Returns the time of the tick after `at`, if the tick of `at` has ended `now`.
    fn next(self, at: Instant, period: Duration, now: Instant) -> Instant {
        match self {
            Self::Burst => later(at, period),
            Self::Delay => later(now, period),
            Self::Skip => {
                let late = now.saturating_duration_since(at).as_nanos() % period.as_nanos();
                // Less than the period, so it fits.
                let late = Duration::new((late / NANOS) as u64, (late % NANOS) as u32);
                later(now.max(at), period - late)
            }
        }
    }
}

/// Nanoseconds per second.
const NANOS: u128 = 1_000_000_000;

/// The instant `after` later than `from`.
fn later(from: Instant, after: Duration) -> Instant {
    from.checked_add(after).unwrap_or_else(|| from + FAR)
}

/// The panic message for a period of 0.
const NO_PERIOD: &str = "the period must be greater than zero";

/// Sets a timer of a pool; `None` if the pool does not accept it.
fn start_timer(pool: Key, at: Instant, entry: Entry) -> Option<TimerKey> {
    reach_on_worker(pool, |pool| pool.shared()?.set_timer(at, entry).ok())
}

/// Removes a timer of a pool; `None` if it has fired, or the pool no longer exists.
fn stop_timer(pool: Key, timer: TimerKey) -> Option<Entry> {
    reach_on_worker(pool, |pool| pool.shared()?.remove_timer(timer))
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_next_tick_is_where_the_policy_says() {
        let at = Instant::now();
        let millis = |millis| Duration::from_millis(millis);
        let next = |missed: Missed, late| missed.next(at, millis(10), at + millis(late)) - at;
        let table = [
            // The delay of the tick's end, and the time of the next tick with each policy.
            (0, [10, 10, 10]),
            (3, [10, 13, 10]),
            (10, [20, 20, 10]),
            (27, [30, 37, 10]),
        ];
        for (late, expected) in table {
            let all = [Missed::Skip, Missed::Delay, Missed::Burst].map(|missed| next(missed, late));
            assert_eq!(all, expected.map(millis), "{late} ms late");
        }
    }

    #[test]
    fn a_period_may_be_as_long_as_it_can() {
        let now = Instant::now();
        for missed in [Missed::Skip, Missed::Delay, Missed::Burst] {
            for period in [Duration::MAX, Duration::MAX - Duration::from_nanos(1)] {
                assert!(missed.next(now, period, now + Duration::from_secs(1)) > now + FAR / 2);
            }
            assert!(missed.next(now, Duration::from_nanos(1), now) > now);
        }
    }
}
