//! What up to [`SEATS`](ParkerGroup::SEATS) threads sleep on, so that one system call wakes any choice of them.
//!
//! Protocol. Two words with a bit for each seat. `tokens`: a token lies here; this is the word the kernel compares.
//! `asleep`: the seat's thread is, or is about to be, in the kernel.
//!
//! - *Sleeper*: sets its bit in `asleep`; fence; reads `tokens`. Its own bit is there: it clears its bit in `asleep`,
//!   then takes the token. It is not: the kernel puts the thread to sleep if `tokens` still is what was read, to be
//!   woken by its own bit. After whatever outcome it reads again. A timeout clears both bits; a token that was
//!   among them has been taken.
//! - *Waker*: sets bits in `tokens`; fence; reads `asleep`; one kernel call for the seats that are asleep and had no
//!   token before. Whoever put down a token that still lies there has called, or is about to.
//!
//! **No token is slept through.** Of the two fences one is first. If the sleeper's is, the waker sees `asleep`, and
//! calls after its token is there: the sleeper is in the kernel and is woken, or gets there later, and the comparison
//! fails. If the waker's is, the sleeper sees the token.
//!
//! **No needless call.** Only a seat's own thread clears its bit in `asleep`, and before it takes the token, so the
//! waker that puts down the next token sees that it is awake. A waker may not clear it: one that was held up between
//! that and its call would leave a thread asleep, by then for the second time, whom no later waker takes for a
//! sleeper.
//!
//! **Nobody else is woken** by the kernel. But any token put down or taken changes the word: a thread that was just
//! going to sleep is then refused by the kernel, and tries again.

use core::time::Duration;

use super::deadline::Deadline;
use super::sleeper::Bench;
use crate::atomic::{AtomicU32, Ordering, fence};

/// Blocks up to [`SEATS`](Self::SEATS) threads, each until another puts down a token for its seat.
///
/// For each seat it is what [`Parker`](crate::Parker) is for one thread. On Linux one system call wakes any number of
/// them. A set of seats is a mask: bit `i` is seat `i`.
///
/// ```
/// use std::time::Duration;
/// let group = brigade_sync::ParkerGroup::new();
/// assert_eq!(group.unpark(0b101), 0, "nobody is asleep");
/// assert!(group.park(0, None));
/// assert!(!group.park(1, Some(Duration::from_millis(1))), "no token for this seat");
/// assert!(group.try_take(2));
/// ```
#[derive(Debug)]
pub struct ParkerGroup {
    /// A bit for each token that lies here.
    tokens: AtomicU32,
    /// A bit for each thread that is, or is about to be, asleep.
    asleep: AtomicU32,
    /// How the operating system is asked to wait for `tokens`.
    bench: Bench,
}

impl Default for ParkerGroup {
    fn default() -> Self {
        Self::new()
    }
}

impl ParkerGroup {
    /// How many seats there are; fewer under the model checker.
    pub const SEATS: u32 = if cfg!(brigade_loom) { 3 } else { 32 };

    /// Makes one without tokens.
    pub fn new() -> Self {
        Self { tokens: AtomicU32::new(0), asleep: AtomicU32::new(0), bench: Bench::new() }
    }

    /// The seats whose threads are asleep or about to be. A hint: it is old when it is there.
    #[inline]
    pub fn asleep(&self) -> u32 {
        self.asleep.load(Ordering::Relaxed)
    }

    /// Takes the seat's token if there is one; never blocks.
    ///
    /// # Panics
    /// If there is no such seat.
    #[inline]
    pub fn try_take(&self, seat: u32) -> bool {
        // A look before the write keeps the line shared while we spin.
        self.tokens.load(Ordering::Relaxed) & bit(seat) != 0 && self.take(bit(seat))
    }

    /// Blocks the calling thread until it has taken the seat's token (`true`) or `timeout` is over (`false`).
    ///
    /// Never returns early. One thread at a time may park on a seat; a second one would steal the token.
    ///
    /// # Panics
    /// If there is no such seat.
    pub fn park(&self, seat: u32, timeout: Option<Duration>) -> bool {
        if self.try_take(seat) {
            return true;
        }
        let deadline = Deadline::after(timeout);
        // Ordering: the fence orders this before the look at `tokens`; its partner is in `unpark`.
        self.asleep.fetch_or(bit(seat), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        loop {
            // Ordering: whether the token is there decides; taking it acquires.
            let tokens = self.tokens.load(Ordering::Relaxed);
            let left = deadline.left();
            if tokens & bit(seat) != 0 || left == Some(Duration::ZERO) {
                // Ordering: the exchange of `tokens` behind this publishes it.
                self.asleep.fetch_and(!bit(seat), Ordering::Relaxed);
                // A token may have come after the look above: then it has not been slept through.
                return self.take(bit(seat));
            }
            self.bench.wait(seat, &self.tokens, tokens, left);
        }
    }

    /// Puts down a token for each seat of the mask, and wakes those of their threads that sleep.
    ///
    /// Returns the seats that were asleep and had no token yet. One system call if there are any, none otherwise.
    #[inline]
    pub fn unpark(&self, seats: u32) -> u32 {
        // Ordering: Release hands over what the caller wrote to those who take the tokens; Acquire pairs with the
        // Release in `take`: whoever took the last one had said before that it is awake.
        let before = self.tokens.fetch_or(seats, Ordering::AcqRel);
        // Ordering: pairs with the fence in `park`.
        fence(Ordering::SeqCst);
        let asleep = self.asleep.load(Ordering::Relaxed) & seats & !before;
        if asleep != 0 {
            self.bench.wake(&self.tokens, asleep);
        }
        asleep
    }

    /// Takes a token; says whether it was there.
    fn take(&self, bit: u32) -> bool {
        // Ordering: Acquire pairs with the Release in `unpark`, and Release with the Acquire there.
        self.tokens.fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }
}

/// The mask of one seat.
#[inline]
fn bit(seat: u32) -> u32 {
    assert!(seat < ParkerGroup::SEATS, "no such seat");
    1 << seat
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;
    use std::time::Instant;

    /// Waits until these seats, and no others, are asleep or about to be.
    fn until_asleep(group: &ParkerGroup, seats: u32) {
        let limit = Instant::now() + Duration::from_secs(10);
        while group.asleep() != seats {
            assert!(Instant::now() < limit, "not asleep within 10 s");
            thread::yield_now();
        }
    }

    fn sleepers(group: &Arc<ParkerGroup>, seats: u32) -> Vec<thread::JoinHandle<bool>> {
        let sit = |seat| {
            let group = group.clone();
            thread::spawn(move || group.park(seat, None))
        };
        (0..seats).map(sit).collect()
    }

    #[test]
    fn a_timeout_is_never_early_and_leaves_the_seat_awake() {
        let group = ParkerGroup::new();
        for micros in [0, 1, 50, 2_000] {
            let start = Instant::now();
            assert!(!group.park(31, Some(Duration::from_micros(micros))));
            assert!(start.elapsed() >= Duration::from_micros(micros));
        }
        assert_eq!(group.unpark(1 << 31), 0);
    }

    #[test]
    fn one_unpark_wakes_those_it_names_and_leaves_the_others_asleep() {
        let group = Arc::new(ParkerGroup::new());
        let threads = sleepers(&group, 32);
        until_asleep(&group, u32::MAX);
        let named = 0xff00_ff01;
        assert_eq!(group.unpark(named), named);
        until_asleep(&group, !named);
        let ended = |thread: &thread::JoinHandle<bool>| thread.is_finished();
        for (seat, thread) in threads.iter().enumerate() {
            assert!(named & (1 << seat) != 0 || !ended(thread), "seat {seat} has no token");
        }
        assert_eq!(group.unpark(u32::MAX) & named, 0, "these are awake");
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    }

    #[test]
    fn a_second_unpark_of_a_sleeper_that_has_its_token_is_no_system_call() {
        let group = Arc::new(ParkerGroup::new());
        let threads = sleepers(&group, 1);
        until_asleep(&group, 1);
        assert_eq!(group.unpark(1), 1);
        assert_eq!(group.unpark(1), 0);
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    }

    #[test]
    fn a_deadline_beyond_the_clock_is_none() {
        let group = Arc::new(ParkerGroup::new());
        let other = group.clone();
        let sleeper = thread::spawn(move || other.park(0, Some(Duration::MAX)));
        until_asleep(&group, 1);
        group.unpark(1);
        assert!(sleeper.join().unwrap());
    }

    #[test]
    fn tokens_pass_around_a_ring_of_thirty_two() {
        const ROUNDS: u32 = 200;
        let group = Arc::new(ParkerGroup::new());
        let pass = |seat: u32| {
            let group = group.clone();
            move || {
                for _ in 0..ROUNDS {
                    assert!(group.park(seat, None));
                    group.unpark(1 << ((seat + 1) % 32));
                }
            }
        };
        let threads: Vec<_> = (0..32).map(|seat| thread::spawn(pass(seat))).collect();
        group.unpark(1);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(group.try_take(0), "it went all the way round");
        assert!(!group.try_take(1));
    }

    #[test]
    #[should_panic(expected = "no such seat")]
    fn a_seat_too_many_is_refused() {
        ParkerGroup::new().park(ParkerGroup::SEATS, None);
    }
}
