//! Who waits, and who has been handed something and not been rung for: the word of a group.
//!
//! A bit for each seat in either half of one word, so that a claim moves a seat from one to the other in one step.
//!
//! - `waiting`: the receiver may be handed a value. The receiver sets it; whoever clears it has the seat: the receiver
//!   itself, which withdraws, or a sender, which then must put a value into the seat's slot, at once.
//! - `handed`: a value is in the slot, or about to be, and the bell for it has not been rung. Set by the claim, so
//!   before the value can be seen. Cleared by whoever rings, or by the receiver that was quicker than the bell. Never
//!   set together with `waiting`, nor on a seat that nobody has.

use brigade_sync::ParkerGroup;
use brigade_sync::atomic::{AtomicU64, Ordering};

/// How far the bits `handed` are above the bits `waiting`.
const HANDED: u32 = 32;

/// The bits of a group's seats.
#[derive(Debug, Default)]
pub(crate) struct Board(AtomicU64);

/// What a receiver that withdraws finds.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Withdrawal {
    /// The seat was still waiting: nobody hands anything to it any more.
    Done,
    /// A sender was quicker: a value is in the slot or about to be.
    TooLate,
}

impl Board {
    /// The receiver may be handed a value from now on.
    pub(crate) fn offer(&self, seat: u32) {
        // Ordering: Release pairs with the Acquire in `claim`: the slot is empty.
        self.0.fetch_or(waiting(seat), Ordering::Release);
    }

    /// The receiver may not be handed a value any more, unless that has happened already.
    pub(crate) fn withdraw(&self, seat: u32) -> Withdrawal {
        // Ordering: this or the claim comes first; the value itself is read through the slot.
        match self.0.fetch_and(!waiting(seat), Ordering::Relaxed) & waiting(seat) {
            0 => Withdrawal::TooLate,
            _ => Withdrawal::Done,
        }
    }

    /// Whether a sender has claimed the seat, which has been offered.
    pub(crate) fn is_claimed(&self, seat: u32) -> bool {
        // Ordering: as in `withdraw`.
        self.0.load(Ordering::Relaxed) & waiting(seat) == 0
    }

    /// Claims a seat that waits: rather one whose thread is awake, by what `asleep` says.
    ///
    /// The caller must put a value into the slot at once, and then ring, or leave that to whoever calls `take_bells`.
    #[inline]
    #[must_use = "a claimed seat waits for its value"]
    pub(crate) fn claim(&self, asleep: impl FnOnce() -> u32) -> Option<u32> {
        // Ordering: a glance that may be old; the exchange decides.
        let mut word = self.0.load(Ordering::Relaxed);
        if word as u32 == 0 {
            return None;
        }
        let asleep = asleep();
        while word as u32 != 0 {
            let all = word as u32;
            let awake = all & !asleep;
            let seat = if awake != 0 { awake } else { all }.trailing_zeros();
            let claimed = word & !waiting(seat) | handed(seat);
            // Ordering: Acquire pairs with the Release in `offer`.
            match self.0.compare_exchange_weak(word, claimed, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Some(seat),
                Err(now) => word = now,
            }
        }
        None
    }

    /// The bells that have not been rung, all of them; it is now for the caller to ring.
    #[inline]
    #[must_use = "nobody else will ring"]
    pub(crate) fn take_bells(&self) -> u32 {
        // Ordering: what the caller handed over it sees; of what others do it may see less.
        if self.0.load(Ordering::Relaxed) >> HANDED == 0 {
            return 0;
        }
        // Ordering: as above; the tokens of the parkers publish what has been put into the slots.
        (self.0.fetch_and(u64::from(u32::MAX), Ordering::Relaxed) >> HANDED) as u32
    }

    /// The bell of one seat, if it has not been rung: the receiver has its value without it, or the caller rings.
    #[inline]
    pub(crate) fn take_bell(&self, seat: u32) -> bool {
        // Ordering: whoever holds the value sees the claim before it; the exchange decides between us and a ringer.
        self.0.load(Ordering::Relaxed) & handed(seat) != 0
            && self.0.fetch_and(!handed(seat), Ordering::Relaxed) & handed(seat) != 0
    }

    /// How many seats wait.
    pub(crate) fn waiting(&self) -> u32 {
        // Ordering: a count that is old when it is there.
        (self.0.load(Ordering::Relaxed) as u32).count_ones()
    }
}

/// The bit that says that a seat waits.
fn waiting(seat: u32) -> u64 {
    debug_assert!(seat < ParkerGroup::SEATS);
    1 << seat
}

/// The bit that says that a seat has been handed something.
fn handed(seat: u32) -> u64 {
    waiting(seat) << HANDED
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_seat_that_is_awake_is_claimed_before_one_that_sleeps() {
        let board = Board::default();
        (0..4).for_each(|seat| board.offer(seat));
        let mut order = Vec::new();
        while let Some(seat) = board.claim(|| 0b0011) {
            order.push(seat);
        }
        assert_eq!(order, [2, 3, 0, 1]);
    }

    #[test]
    fn the_last_seat_can_be_offered_claimed_and_rung() {
        let board = Board::default();
        board.offer(31);
        assert_eq!(board.waiting(), 1);
        assert_eq!(board.claim(|| 0), Some(31));
        assert!(board.is_claimed(31));
        assert_eq!(board.withdraw(31), Withdrawal::TooLate);
        assert_eq!(board.take_bells(), 1 << 31);
        assert_eq!(board.take_bells(), 0);
        assert!(!board.take_bell(31));
    }

    #[test]
    fn bells_leave_the_seats_that_wait_alone() {
        let board = Board::default();
        (0..32).for_each(|seat| board.offer(seat));
        assert_eq!(board.claim(|| 0), Some(0));
        assert_eq!(board.take_bells(), 1);
        assert_eq!(board.waiting(), 31);
        assert_eq!(board.withdraw(1), Withdrawal::Done);
        assert_eq!(board.waiting(), 30);
    }
}
