//! The clock, virtual in seeded tests.

use core::time::Duration;
use std::time::Instant;

/// Whether there is a clock: WebAssembly without a system has none, and [`now`] panics there.
pub const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// Returns the present time: [`Instant::now`].
#[inline(always)]
pub fn now() -> Instant {
    #[cfg(brigade_seeded)]
    return brigade_instrument::seeded::clock::now();
    #[cfg(not(brigade_seeded))]
    Instant::now()
}

/// Returns the present time, if there is a clock.
#[inline(always)]
pub fn try_now() -> Option<Instant> {
    HAS_CLOCK.then(now)
}

/// Returns how long ago `then` was: [`Instant::elapsed`].
#[inline(always)]
pub fn since(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}

/// Returns how much time is left until then.
#[inline(always)]
pub fn until(then: Instant) -> Duration {
    then.saturating_duration_since(now())
}

/// Returns the lesser of two instants or durations, or the only one.
pub fn earlier<T: Copy + Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one < other { one } else { other }),
        (time, None) | (None, time) => time,
    }
}

/// Blocks the calling thread for at least this time: [`std::thread::sleep`].
#[cfg_attr(brigade_seeded, track_caller)]
pub fn sleep(time: Duration) {
    #[cfg(brigade_seeded)]
    return brigade_instrument::seeded::clock::sleep(time);
    #[cfg(not(brigade_seeded))]
    std::thread::sleep(time);
}
