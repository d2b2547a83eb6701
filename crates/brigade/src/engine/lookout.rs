//! Looking out for a token before sleeping, or instead.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::{AtomicBool, Ordering};

use super::worker::Worker;
use crate::config::Idle as Policy;

/// The right to look out, which one worker of a pool has at a time.
pub(super) struct Lookout<'a> {
    /// For how much longer.
    pub(super) left: Duration,
    spinner: &'a AtomicBool,
}

impl Drop for Lookout<'_> {
    fn drop(&mut self) {
        self.spinner.store(false, Ordering::Relaxed);
    }
}

impl Worker {
    /// Waits for a token; `false` if `timeout` is over.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> bool {
        match self.core.config.idle {
            Policy::Spin => self.spin(timeout),
            _ => self.me.parker.park(timeout),
        }
    }

    /// Whether we may look out for a token before we sleep: if the pool's policy says so, nobody else does, and
    /// there is a processor to spare.
    pub(super) fn look_out(&self) -> Option<Lookout<'_>> {
        let core = &*self.core;
        let Policy::SpinThenPark(left) = core.config.idle else { return None };
        if left.is_zero()
            || core.idle.snapshot().running() >= core.cpus
            || core.spinner.swap(true, Ordering::Relaxed)
        {
            return None;
        }
        Some(Lookout { left, spinner: &core.spinner })
    }

    /// Looks out for a token for as long as the right to is ours, or for `timeout`; `false` if that is over.
    pub(super) fn spin_for(&self, out: &mut Lookout<'_>, timeout: Option<Duration>) -> bool {
        let slice = timeout.map_or(out.left, |timeout| timeout.min(out.left));
        out.left -= slice;
        self.spin(Some(slice))
    }

    /// Looks out for a token; `false` if `patience` is over.
    fn spin(&self, patience: Option<Duration>) -> bool {
        let parker = &self.me.parker;
        let start = Instant::now();
        loop {
            for _ in 0..16 {
                if parker.try_take() {
                    return true;
                }
                brigade_sync::hint::spin_loop();
            }
            if patience.is_some_and(|patience| start.elapsed() >= patience) {
                return false;
            }
            if self.core.config.idle == Policy::Spin {
                // For ever is long: whoever else wants this core shall have it.
                brigade_sync::thread::yield_now();
            }
        }
    }
}
