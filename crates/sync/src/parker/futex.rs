//! Blocks threads on a Linux futex.

use core::ptr;
use core::time::Duration;

use crate::atomic::AtomicU32;
use crate::linux;

/// Blocks the threads of up to `N` seats on one atomic, with a bit for each seat; it needs no memory.
#[derive(Debug, Default)]
pub(super) struct Sleepers<const N: usize>;

impl<const N: usize> Sleepers<N> {
    /// Blocks the thread of a seat while `state` holds `value`, for `timeout` at most; may return early.
    pub(super) fn wait(&self, seat: u32, state: &AtomicU32, value: u32, timeout: Option<Duration>) {
        // `FUTEX_WAIT_BITSET` takes an absolute timeout.
        let deadline = timeout.map(|timeout| timespec(now().saturating_add(timeout)));
        let deadline = deadline.as_ref().map_or(ptr::null(), ptr::from_ref);
        let op = linux::FUTEX_WAIT_BITSET | linux::FUTEX_PRIVATE_FLAG;
        let unused = ptr::null::<u32>();
        let bits = 1_u32 << seat;
        // SAFETY: `state` and `deadline` outlive the call and have the layouts given in futex(2).
        // Every result (woken, changed, interrupted, timed out) makes the caller look again.
        unsafe {
            linux::syscall(linux::SYS_futex, state.as_ptr(), op, value, deadline, unused, bits)
        };
    }

    /// Wakes the threads of these seats blocked on `state`, with a single system call.
    pub(super) fn wake(&self, state: &AtomicU32, seats: u32) {
        let op = linux::FUTEX_WAKE_BITSET | linux::FUTEX_PRIVATE_FLAG;
        // A thread for each seat: the kernel looks for no more.
        let most = seats.count_ones();
        let unused = ptr::null::<u32>();
        // SAFETY: the kernel uses the address as a key and does not dereference it.
        unsafe {
            linux::syscall(linux::SYS_futex, state.as_ptr(), op, most, unused, unused, seats)
        };
    }
}

/// Returns the time of the clock used by futex(2) for absolute timeouts.
fn now() -> Duration {
    let mut now = linux::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a writable `timespec`. The clock always exists, so the call can't fail.
    unsafe { linux::clock_gettime(linux::CLOCK_MONOTONIC, &mut now) };
    // Neither field is negative: this clock counts from the start of the system.
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Converts to the kernel's type; a time out of range becomes the longest possible.
fn timespec(time: Duration) -> linux::timespec {
    linux::timespec {
        tv_sec: linux::time_t::try_from(time.as_secs()).unwrap_or(linux::time_t::MAX),
        // Below 10^9, which the narrowest `long` holds.
        tv_nsec: time.subsec_nanos() as linux::c_long,
    }
}
