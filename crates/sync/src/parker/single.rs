//! The parker of a single thread.
//!
//! Protocol. One state: `EMPTY`, `NOTIFIED` (there is a token), `ASLEEP` (the thread is in the kernel, or about to
//! be). Only the parking thread writes `ASLEEP` and takes the token. Any thread writes `NOTIFIED`, by a swap; a swap
//! that returns `ASLEEP` must be followed by the kernel call. The kernel compares the state with `ASLEEP` before it
//! blocks the thread, so no earlier token is slept through.

use core::time::Duration;

use super::deadline::Deadline;
use super::sleeper::Sleepers;
use crate::atomic::{AtomicU32, Ordering};
use crate::step;

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
const ASLEEP: u32 = 2;

/// Blocks a thread until another thread stores a token.
///
/// A token stored before the thread parks lets it pass at once; several tokens count as one.
///
/// ```
/// use brigade_sync::Parker;
/// let parker = Parker::new();
/// parker.unpark();
/// assert!(parker.park(None));
/// assert!(!parker.park(Some(std::time::Duration::from_millis(1))), "no second token");
/// ```
#[derive(Debug, Default)]
pub struct Parker {
    /// `EMPTY`, `NOTIFIED` or `ASLEEP`.
    state: AtomicU32,
    /// The means of blocking the thread, which has seat 0.
    sleepers: Sleepers<1>,
}

impl Parker {
    /// Creates a parker without a token.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the token, if any; never blocks.
    #[inline]
    pub fn try_take(&self) -> bool {
        step();
        // Ordering: Relaxed: the exchange decides. The load keeps the cache line shared while a thread spins.
        self.state.load(Ordering::Relaxed) == NOTIFIED
            // Ordering: Acquire pairs with the Release in `unpark`.
            && self.state.compare_exchange(NOTIFIED, EMPTY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether there is a token; never blocks, and takes none.
    pub fn has_token(&self) -> bool {
        step();
        // Ordering: Relaxed, as the token is not taken.
        self.state.load(Ordering::Relaxed) == NOTIFIED
    }

    /// Blocks the calling thread until it has taken a token (`true`) or `timeout` has passed (`false`).
    ///
    /// Never returns early. Only one thread at a time may park; a second thread would take the first thread's token.
    pub fn park(&self, timeout: Option<Duration>) -> bool {
        step();
        // Ordering: a token found here pairs with the Release in `unpark`; writing `ASLEEP` publishes nothing.
        if self.state.compare_exchange(EMPTY, ASLEEP, Ordering::Acquire, Ordering::Acquire).is_err()
        {
            // Ordering: Acquire as above.
            self.state.swap(EMPTY, Ordering::Acquire);
            return true;
        }
        let deadline = Deadline::after(timeout);
        loop {
            let remaining = deadline.remaining();
            if remaining != Some(Duration::ZERO) {
                self.sleepers.wait(0, &self.state, ASLEEP, remaining);
            }
            // Ordering: Acquire pairs with the Release in `unpark`.
            if self
                .state
                .compare_exchange(NOTIFIED, EMPTY, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return true;
            }
            if remaining == Some(Duration::ZERO) {
                // Ordering: Acquire as above; a token may have come after the look above.
                return self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED;
            }
        }
    }

    /// Stores a token and wakes the thread if it is asleep.
    ///
    /// Makes a system call only if the thread is asleep; returns whether it was.
    #[inline]
    pub fn unpark(&self) -> bool {
        step();
        // Ordering: Release publishes the caller's writes to the taker of the token.
        let asleep = self.state.swap(NOTIFIED, Ordering::Release) == ASLEEP;
        if asleep {
            self.sleepers.wake(&self.state, 1);
        }
        asleep
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn a_timeout_is_never_early() {
        let parker = Parker::new();
        for micros in [0, 1, 50, 2_000] {
            let start = Instant::now();
            assert!(!parker.park(Some(Duration::from_micros(micros))));
            assert!(start.elapsed() >= Duration::from_micros(micros));
        }
    }

    #[test]
    fn a_deadline_beyond_the_clock_is_none() {
        let parker = Arc::new(Parker::new());
        let other = parker.clone();
        let waker = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            other.unpark()
        });
        assert!(parker.park(Some(Duration::MAX)));
        assert!(waker.join().unwrap(), "the thread was asleep");
    }

    #[test]
    fn two_threads_pass_tokens_back_and_forth() {
        let pair = Arc::new((Parker::new(), Parker::new()));
        let other = pair.clone();
        let echo = std::thread::spawn(move || {
            for _ in 0..10_000 {
                assert!(other.0.park(None));
                other.1.unpark();
            }
        });
        for _ in 0..10_000 {
            pair.0.unpark();
            assert!(pair.1.park(None));
        }
        echo.join().unwrap();
    }
}
