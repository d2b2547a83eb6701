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
        let timeout = timeout.map(|timeout| libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            // Below 10^9, which the narrowest `long` holds.
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        });
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
