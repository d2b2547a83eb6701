//! Sleeping on a Linux futex.

use core::ptr;
use core::time::Duration;

use crate::atomic::AtomicU32;

/// Waits on the parker's own word: nothing else is needed.
#[derive(Debug)]
pub(super) struct Sleeper;

impl Sleeper {
    pub(super) fn new() -> Self {
        Self
    }

    /// Sleeps while `word` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(&self, word: &AtomicU32, value: u32, timeout: Option<Duration>) {
        let timeout = timeout.map(timespec);
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: `word` and `timeout` outlive the call and have the layouts that futex(2) names.
        // Every outcome (woken, changed, interrupted, timed out) is a reason to look again.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, value, timeout) };
    }

    /// Wakes the thread that sleeps on `word`.
    pub(super) fn wake(&self, word: &AtomicU32) {
        let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the kernel takes the address as a name and does not follow it.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, 1) };
    }
}

/// Waits on a word of several threads, each with a bit of its own.
#[derive(Debug)]
pub(super) struct Bench;

impl Bench {
    pub(super) fn new() -> Self {
        Self
    }

    /// Sleeps on a seat while `word` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(&self, seat: u32, word: &AtomicU32, value: u32, timeout: Option<Duration>) {
        // With a bit set the kernel wants the hour, not the time until then.
        let hour = timeout.map(|timeout| timespec(now().saturating_add(timeout)));
        let hour = hour.as_ref().map_or(ptr::null(), ptr::from_ref);
        let op = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let unused = ptr::null::<u32>();
        let bits = 1_u32 << seat;
        // SAFETY: `word` and `hour` outlive the call and have the layouts that futex(2) names. Every outcome is
        // a reason to look again, as above.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, value, hour, unused, bits) };
    }

    /// Wakes the threads that sleep on these seats of `word`, all by one call.
    pub(super) fn wake(&self, word: &AtomicU32, seats: u32) {
        let op = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let unused = ptr::null::<u32>();
        // SAFETY: the kernel takes the address as a name and does not follow it.
        unsafe {
            libc::syscall(libc::SYS_futex, word.as_ptr(), op, i32::MAX, unused, unused, seats)
        };
    }
}

/// The hour on the clock that futex(2) goes by if it is not told another.
fn now() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a `timespec` of ours. The clock is always there, so the call can't fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    // Neither is negative: this clock counts from the start of the system.
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// As the kernel wants it; what is too long is the longest there is.
fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        // Below 10^9, which the narrowest `long` holds.
        tv_nsec: time.subsec_nanos() as libc::c_long,
    }
}
