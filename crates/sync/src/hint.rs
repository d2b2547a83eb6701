//! Ways to wait actively for another thread.

/// Lets the other side run: a pause on hardware, a switch under the model checker.
#[inline]
pub fn spin_loop() {
    #[cfg(brigade_loom)]
    loom::thread::yield_now();
    #[cfg(not(brigade_loom))]
    core::hint::spin_loop();
}

/// Leaves a contended cache line to another thread, longer at each call: 2^6 pauses, half a microsecond or more, to
/// 2^8. Never yields the processor.
///
/// `round` counts the calls and starts at 0.
#[cold]
#[inline(never)]
pub fn back_off(round: u32) {
    let pauses = if cfg!(brigade_loom) { 1 } else { 1 << (6 + round).min(8) };
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
    if round <= PAUSE_ROUNDS && cfg!(not(brigade_loom)) {
        for _ in 0..1_u32 << round {
            spin_loop();
        }
        return;
    }
    #[cfg(all(feature = "std", not(brigade_loom)))]
    std::thread::yield_now();
    #[cfg(any(not(feature = "std"), brigade_loom))]
    spin_loop();
}
