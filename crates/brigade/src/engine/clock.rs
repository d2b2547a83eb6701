//! The time in the current pool.

use std::time::Instant;

use brigade_sync::time;

use super::key::Key;
use super::registry::{current_pool, reach};
use super::timers::clock::Clock;

/// Returns the present time: [`Instant::now`], unless the [current pool](crate::Handle::current) has a virtual clock,
/// like `LocalPool::paused`.
///
/// Code tested with such a clock must read the time here: [`Instant::now`] and [`Instant::elapsed`] read the real time.
///
/// ```
/// use brigade::time;
/// use std::time::Duration;
/// brigade::block_on(async {
///     let begun = time::now();
///     time::sleep(Duration::from_millis(1)).await;
///     assert!(time::now() - begun >= Duration::from_millis(1));
/// });
/// ```
#[inline]
pub fn now() -> Instant {
    let pool = if Clock::MAY_BE_PAUSED { current_pool() } else { None };
    pool.map_or_else(time::now, now_in)
}

/// The present time in `pool`.
#[inline]
pub(crate) fn now_in(pool: Key) -> Instant {
    let mut now = None;
    if Clock::MAY_BE_PAUSED {
        reach(pool, &mut |at| now = at.shared().map(|shared| shared.events.timers.clock().now()));
    }
    now.unwrap_or_else(time::now)
}
