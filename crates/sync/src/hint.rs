//! Ways to wait actively for another thread.

/// Lets the other side run: a pause on hardware, a switch under the model checker.
#[inline]
#[cfg_attr(brigade_seeded, track_caller)]
pub fn spin_loop() {
    #[cfg(brigade_loom)]
    loom::thread::yield_now();
    #[cfg(brigade_seeded)]
    brigade_instrument::seeded::yield_now();
    #[cfg(not(any(brigade_loom, brigade_seeded)))]
    core::hint::spin_loop();
}

/// Leaves a contended cache line to another thread, longer at each call: 2^6 pauses, half a microsecond or more, to
/// 2^8. Never yields the processor.
///
/// `round` counts the calls and starts at 0.
#[cold]
#[inline(never)]
pub fn back_off(round: u32) {
    let pauses = if cfg!(any(brigade_loom, brigade_seeded)) { 1 } else { 1 << (6 + round).min(8) };
    for _ in 0..pauses {
        spin_loop();
    }
}

/// Waits a little longer at each call: pauses first, then yields the processor.
///
/// `round` counts the calls and starts at 0. Without the feature `std` there is no operating system to yield to, and
/// it only pauses.
#[inline]
pub fn snooze(round: u32) {
    /// Rounds of pausing, each twice as long: 2^6 pauses are about a microsecond. A preempted peer needs the
    /// processor more than the waiting thread does, so the pauses end there.
    const PAUSE_ROUNDS: u32 = 6;
    if round <= PAUSE_ROUNDS && cfg!(not(any(brigade_loom, brigade_seeded))) {
        for _ in 0..1_u32 << round {
            spin_loop();
        }
        return;
    }
    #[cfg(all(feature = "std", not(any(brigade_loom, brigade_seeded))))]
    std::thread::yield_now();
    #[cfg(any(not(feature = "std"), brigade_loom, brigade_seeded))]
    spin_loop();
}
