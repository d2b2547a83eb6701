//! What a thread sleeps on. Not `std::thread::park`: std's own locks eat its tokens
//! (rust-lang/rust#145816).
//!
//! Protocol. One word: `EMPTY`, `NOTIFIED` (a token lies here), `ASLEEP` (its thread is, or is about
//! to be, in the kernel). Only the parking thread writes `ASLEEP` and takes the token; anybody writes
//! `NOTIFIED`, by a swap, and whoever swapped out `ASLEEP` owes the kernel call. The kernel compares
//! the word with `ASLEEP` before it sleeps, so a token put down before that is not slept through.

mod deadline;
mod group;

use core::time::Duration;

use self::deadline::Deadline;
pub use self::group::ParkerGroup;

use crate::atomic::{AtomicU32, Ordering};

#[cfg_attr(all(target_os = "linux", not(brigade_loom), not(brigade_portable)), path = "futex.rs")]
#[cfg_attr(
    not(all(target_os = "linux", not(brigade_loom), not(brigade_portable))),
    path = "condvar.rs"
)]
mod sleeper;

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
const ASLEEP: u32 = 2;

/// Blocks one thread until another puts a token down.
///
/// A token put down before the thread parks lets it pass at once; several are one.
///
/// ```
/// use brigade_sync::Parker;
/// let parker = Parker::new();
/// parker.unpark();
/// assert!(parker.park(None));
/// assert!(!parker.park(Some(std::time::Duration::from_millis(1))), "no second token");
/// ```
#[derive(Debug)]
pub struct Parker {
    /// `EMPTY`, `NOTIFIED` or `ASLEEP`.
    word: AtomicU32,
    /// How the operating system is asked to wait for the word.
    sleeper: sleeper::Sleeper,
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Parker {
    /// Makes one without a token.
    pub fn new() -> Self {
        Self { word: AtomicU32::new(EMPTY), sleeper: sleeper::Sleeper::new() }
    }

    /// Takes the token if there is one; never blocks.
    #[inline]
    pub fn try_take(&self) -> bool {
        // A look before the write keeps the line shared while we spin.
        self.word.load(Ordering::Relaxed) == NOTIFIED
            // Ordering: Acquire pairs with the Release in `unpark`.
            && self.word.compare_exchange(NOTIFIED, EMPTY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Blocks the calling thread until it has taken a token (`true`) or `timeout` is over (`false`).
    ///
    /// Never returns early. One thread at a time may park; a second one would steal the token.
    pub fn park(&self, timeout: Option<Duration>) -> bool {
        // Ordering: a token found here pairs with the Release in `unpark`; writing `ASLEEP` publishes nothing.
        if self.word.compare_exchange(EMPTY, ASLEEP, Ordering::Acquire, Ordering::Acquire).is_err()
        {
            // Ordering: Acquire as above.
            self.word.swap(EMPTY, Ordering::Acquire);
            return true;
        }
        let deadline = Deadline::after(timeout);
        loop {
            let left = deadline.left();
            if left != Some(Duration::ZERO) {
                self.sleeper.wait(&self.word, ASLEEP, left);
            }
            // Ordering: Acquire pairs with the Release in `unpark`.
            if self
                .word
                .compare_exchange(NOTIFIED, EMPTY, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return true;
            }
            if left == Some(Duration::ZERO) {
                // Ordering: Acquire; a token may have come after the look above.
                return self.word.swap(EMPTY, Ordering::Acquire) == NOTIFIED;
            }
        }
    }

    /// Puts a token down and wakes the thread if it sleeps.
    ///
    /// Makes a system call only if the thread is asleep; returns whether it was.
    #[inline]
    pub fn unpark(&self) -> bool {
        // Ordering: Release hands over what the caller wrote to the thread that takes the token.
        let asleep = self.word.swap(NOTIFIED, Ordering::Release) == ASLEEP;
        if asleep {
            self.sleeper.wake(&self.word);
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
        assert!(waker.join().unwrap(), "it slept");
    }

    #[test]
    fn tokens_of_two_threads_pass_back_and_forth() {
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
