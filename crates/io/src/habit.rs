//! What to expect after a read that filled its buffer.
//!
//! There may be more, and then another read gets it; or there is none, and then that read is a system call for nothing:
//! one of four in a line of pipes that pass single bytes. Which it is depends on what the file is used for, so it is
//! learnt, as processors learn branches: by a counter of two bits (J. E. Smith, "A study of branch prediction
//! strategies", 1981). Where more is not expected the kernel is asked first, which is wrong only if it is slower, and
//! now and then a read is tried all the same.

use core::fmt;

use brigade_sync::atomic::{AtomicU8, Ordering::Relaxed};

/// How firmly more is expected: 0 to 3, more from 2 on.
const FIRM: u8 = 0b11;
const MORE: u8 = 2;
/// The bits above count what was not tried. When they overflow, one is.
const SKIPPED: u8 = 0b100;

/// The habit of one file. Wrong or lost updates cost time and nothing else, so every operation is Relaxed.
pub(crate) struct Habit(AtomicU8);

impl Habit {
    /// Expects more.
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(FIRM))
    }

    /// After a full buffer: whether another read is worth the try.
    pub(crate) fn expects_more(&self) -> bool {
        let word = self.0.load(Relaxed);
        if word & FIRM >= MORE {
            return true;
        }
        let next = word.wrapping_add(SKIPPED);
        self.0.store(next, Relaxed);
        next < SKIPPED
    }

    /// Learns what came of such a try.
    pub(crate) fn learn(&self, more: bool) {
        let word = self.0.load(Relaxed);
        let firm = word & FIRM;
        let firm = if more { (firm + 1).min(FIRM) } else { firm.saturating_sub(1) };
        self.0.store((word & !FIRM) | firm, Relaxed);
    }
}

impl fmt::Debug for Habit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Habit").field(&(self.0.load(Relaxed) & FIRM)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many full buffers, of which each is followed by more or not, how many reads were tried.
    fn tries(habit: &Habit, rounds: usize, more: impl Fn(usize) -> bool) -> usize {
        let follow = |&round: &usize| {
            let tried = habit.expects_more();
            if tried {
                habit.learn(more(round));
            }
            tried
        };
        (0..rounds).filter(follow).count()
    }

    #[test]
    fn nothing_that_follows_is_tried_rarely_and_more_is_always() {
        let habit = Habit::new();
        assert_eq!(tries(&habit, 100, |_| true), 100);
        assert!(tries(&habit, 6400, |_| false) <= 2 + 100);
    }

    #[test]
    fn a_header_and_its_body_are_tried_all_the_time() {
        assert_eq!(tries(&Habit::new(), 100, |round| round % 2 == 0), 100);
    }

    #[test]
    fn what_has_become_a_stream_is_found_out() {
        let habit = Habit::new();
        tries(&habit, 1000, |_| false);
        assert!(tries(&habit, 1000, |_| true) >= 1000 - 3 * 64);
    }
}
