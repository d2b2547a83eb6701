//! Blocks threads on a Linux futex.

use core::ptr;
use core::time::Duration;

use crate::atomic::AtomicU32;

/// Blocks one thread on the parker's own state; it needs no memory.
#[derive(Debug)]
pub(super) struct Sleeper;

impl Sleeper {
    pub(super) fn new() -> Self {
        Self
    }

    /// Blocks while `state` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(&self, state: &AtomicU32, value: u32, timeout: Option<Duration>) {
        let timeout = timeout.map(timespec);
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: `state` and `timeout` outlive the call and have the layouts that futex(2) names.
        // Every result (woken, changed, interrupted, timed out) makes the caller look again.
        unsafe { libc::syscall(libc::SYS_futex, state.as_ptr(), op, value, timeout) };
    }

    /// Wakes the thread that is blocked on `state`.
    pub(super) fn wake(&self, state: &AtomicU32) {
        let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the kernel uses the address as a key and does not dereference it.
        unsafe { libc::syscall(libc::SYS_futex, state.as_ptr(), op, 1) };
    }
}

/// Blocks the threads of a group on one atomic, each with a bit of its own; it needs no memory.
#[derive(Debug)]
pub(super) struct Sleepers;

impl Sleepers {
    pub(super) fn new() -> Self {
        Self
    }

    /// Blocks the thread of a seat while `tokens` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(
        &self,
        seat: u32,
        tokens: &AtomicU32,
        value: u32,
        timeout: Option<Duration>,
    ) {
        // `FUTEX_WAIT_BITSET` takes an absolute timeout.
        let deadline = timeout.map(|timeout| timespec(now().saturating_add(timeout)));
        let deadline = deadline.as_ref().map_or(ptr::null(), ptr::from_ref);
        let op = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let unused = ptr::null::<u32>();
        let bits = 1_u32 << seat;
        // SAFETY: `tokens` and `deadline` outlive the call and have the layouts that futex(2) names. Every result
        // makes the caller look again, as above.
        unsafe {
            libc::syscall(libc::SYS_futex, tokens.as_ptr(), op, value, deadline, unused, bits)
        };
    }

    /// Wakes the threads of these seats that are blocked on `tokens`, with one system call.
    pub(super) fn wake(&self, tokens: &AtomicU32, seats: u32) {
        let op = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let unused = ptr::null::<u32>();
        // SAFETY: the kernel uses the address as a key and does not dereference it.
        unsafe {
            libc::syscall(libc::SYS_futex, tokens.as_ptr(), op, i32::MAX, unused, unused, seats)
        };
    }
}

/// Returns the time of the clock that futex(2) measures absolute timeouts by.
fn now() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a writable `timespec`. The clock always exists, so the call can't fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    // Neither field is negative: this clock counts from the start of the system.
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Converts to the kernel's type; a time that is too long becomes the longest possible one.
fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        // Below 10^9, which the narrowest `long` holds.
        tv_nsec: time.subsec_nanos() as libc::c_long,
    }
}
