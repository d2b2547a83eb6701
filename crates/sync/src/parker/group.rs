//! The parker of up to [`SEATS`](ParkerGroup::SEATS) threads; a single system call wakes any subset of them.
//!
//! Protocol. Two atomics with a bit for each seat. `tokens`: there is a token for this seat; the kernel compares this
//! atomic. `asleep`: the thread of this seat is in the kernel, or about to be.
//!
//! - *Sleeper*: sets its bit in `asleep`; fence; reads `tokens`. If its bit there is set, it clears its bit in
//!   `asleep`, then takes the token. Otherwise the kernel blocks the thread if `tokens` still holds the value read, to
//!   be woken by its own bit. After every return from the kernel it reads `tokens` again. A timeout clears both bits;
//!   a token among them counts as taken.
//! - *Waker*: sets bits in `tokens`; fence; reads `asleep`; makes a kernel call for the seats that are asleep and
//!   had no token before. For an earlier token, its waker has made the call or is about to.
//!
//! **No token is slept through.** Either fence is first. If it is the sleeper's, the waker sees `asleep`, and
//! its call comes after the token was stored. Then the sleeper is in the kernel and is woken, or arrives later and the
//! comparison fails. If it is the waker's, the sleeper sees the token.
//!
//! **No needless call.** Only the thread of a seat clears its bit in `asleep`, and it does so before it takes the
//! token. So the next waker sees that the thread is awake. A waker must not clear the bit. If it were preempted between
//! the two, the thread could go to sleep a second time without a later waker seeing it asleep.
//!
//! **The kernel wakes no other thread.** But every token stored or taken changes `tokens`. A thread about to block
//! then returns from the kernel at once and tries again.

use core::time::Duration;

use super::deadline::Deadline;
use super::sleeper::Sleepers;
use crate::atomic::{AtomicU32, Ordering, fence};
use crate::step;

/// Seats of a group: as many as a futex mask has bits; fewer under the model checker.
const SEATS: u32 = if cfg!(brigade_loom) { 3 } else { 32 };

/// Blocks up to [`SEATS`](Self::SEATS) threads, each until another thread stores a token for the seat.
///
/// A seat is a number below `SEATS`, used by a single thread. Each seat works like a [`Parker`](crate::Parker). On
/// Linux a single system call wakes any number of them. A set of seats is a mask: bit `i` is seat `i`.
///
/// ```
/// use std::time::Duration;
/// let group = brigade_sync::ParkerGroup::new();
/// assert_eq!(group.unpark(0b101), 0, "no thread is asleep");
/// assert!(group.park(0, None));
/// assert!(!group.park(1, Some(Duration::from_millis(1))), "no token for this seat");
/// assert!(group.try_take(2));
/// ```
#[derive(Debug, Default)]
pub struct ParkerGroup {
    /// A bit for each token.
    tokens: AtomicU32,
    /// A bit for each thread asleep or about to be.
    asleep: AtomicU32,
    /// The means of blocking the threads.
    sleepers: Sleepers<{ SEATS as usize }>,
}

impl ParkerGroup {
    /// The number of seats; smaller under the model checker.
    pub const SEATS: u32 = SEATS;

    /// Creates a group without tokens.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the seats whose threads are asleep or about to be. A hint: it may be out of date on return.
    #[inline]
    pub fn asleep(&self) -> u32 {
        // Ordering: Relaxed: a hint.
        self.asleep.load(Ordering::Relaxed)
    }

    /// Takes the seat's token, if any; never blocks.
    ///
    /// # Panics
    /// If there is no such seat.
    #[inline]
    #[track_caller]
    pub fn try_take(&self, seat: u32) -> bool {
        step();
        // Ordering: Relaxed: `take` decides. The load keeps the cache line shared while a thread spins.
        self.tokens.load(Ordering::Relaxed) & bit(seat) != 0 && self.take(bit(seat))
    }

    /// Blocks the calling thread until it has taken the seat's token (`true`) or `timeout` has passed (`false`).
    ///
    /// Never returns early. Only one thread at a time may park on a seat; a second thread would take the first
    /// thread's token.
    ///
    /// # Panics
    /// If there is no such seat.
    #[track_caller]
    pub fn park(&self, seat: u32, timeout: Option<Duration>) -> bool {
        step();
        if self.try_take(seat) {
            return true;
        }
        let deadline = Deadline::after(timeout);
        // Ordering: the fence orders this before the look at `tokens`; its partner is in `unpark`.
        self.asleep.fetch_or(bit(seat), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        loop {
            // Ordering: Relaxed: only whether the token is there matters; taking it acquires.
            let tokens = self.tokens.load(Ordering::Relaxed);
            let remaining = deadline.remaining();
            if tokens & bit(seat) != 0 || remaining == Some(Duration::ZERO) {
                // Ordering: the exchange of `tokens` after this publishes it.
                self.asleep.fetch_and(!bit(seat), Ordering::Relaxed);
                // A token may have come after the look above: then it has not been slept through.
                return self.take(bit(seat));
            }
            self.sleepers.wait(seat, &self.tokens, tokens, remaining);
        }
    }

    /// Stores a token for each seat of the mask, and wakes the sleeping threads among them.
    ///
    /// Returns the seats that were asleep and had no token yet. Makes one system call if there are any, none otherwise.
    #[inline]
    pub fn unpark(&self, seats: u32) -> u32 {
        step();
        // Ordering: Release publishes the caller's writes to the threads that take the tokens. Acquire pairs with the
        // Release in `take`: the taker of the last token had cleared its bit in `asleep` before.
        let before = self.tokens.fetch_or(seats, Ordering::AcqRel);
        // Ordering: pairs with the fence in `park`.
        fence(Ordering::SeqCst);
        let asleep = self.asleep.load(Ordering::Relaxed) & seats & !before;
        if asleep != 0 {
            self.sleepers.wake(&self.tokens, asleep);
        }
        asleep
    }

    /// Takes a token; returns whether it was there.
    fn take(&self, bit: u32) -> bool {
        // Ordering: Acquire pairs with the Release in `unpark`, and Release with the Acquire there.
        self.tokens.fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }
}

/// Returns the mask of a seat.
///
/// # Panics
/// If there is no such seat.
#[inline]
#[track_caller]
fn bit(seat: u32) -> u32 {
    assert!(seat < SEATS, "no such seat");
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
        let park = |seat| {
            let group = group.clone();
            thread::spawn(move || group.park(seat, None))
        };
        (0..seats).map(park).collect()
    }

    #[test]
    fn a_timeout_is_never_early_and_wakes_the_seat() {
        let group = ParkerGroup::new();
        for micros in [0, 1, 50, 2_000] {
            let start = Instant::now();
            assert!(!group.park(31, Some(Duration::from_micros(micros))));
            assert!(start.elapsed() >= Duration::from_micros(micros));
        }
        assert_eq!(group.unpark(1 << 31), 0);
    }

    #[test]
    fn one_unpark_wakes_only_its_seats() {
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
    fn a_second_unpark_is_no_system_call() {
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
        assert!(group.try_take(0), "it passed every seat");
        assert!(!group.try_take(1));
    }

    #[test]
    #[should_panic(expected = "no such seat")]
    fn a_seat_beyond_the_last_is_rejected() {
        ParkerGroup::new().park(ParkerGroup::SEATS, None);
    }
}
