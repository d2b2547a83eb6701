//! The state of a group: which receivers wait, and for which a wake is pending.
//!
//! A single atomic with two bits for each seat, so a claim moves a seat from one bit to the other in one step.
//!
//! - `waiting`: the receiver may be handed a value. The receiver sets it. Clearing it takes the seat: either the receiver
//!   withdraws, or a sender claims the seat and must put a value into its slot at once.
//! - `pending`: a value is in the slot, or about to be, and its wake is pending. Set by the claim, so before the value can
//!   be seen. Cleared by the waking thread, or by the receiver if it finds the value first. Never set together with
//!   `waiting`, nor on a seat without a receiver.

use brigade_sync::ParkerGroup;
use brigade_sync::atomic::{AtomicU64, Ordering};

/// The distance of the bits `pending` from the bits `waiting`.
const PENDING: u32 = 32;

/// The state of a group's seats.
#[derive(Debug, Default)]
pub(crate) struct GroupState(AtomicU64);

/// The findings of a withdrawing receiver.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Withdrawal {
    /// The seat was still waiting: it will not be handed a value any more.
    Done,
    /// A sender has claimed the seat: a value is in the slot or about to be.
    TooLate,
}

impl GroupState {
    /// Marks the seat as waiting for a value.
    pub(crate) fn offer(&self, seat: u32) {
        // Ordering: Release pairs with the Acquire in `claim`: the slot is empty.
        self.0.fetch_or(waiting(seat), Ordering::Release);
    }

    /// Ends the wait of the seat, unless a sender has claimed it.
    pub(crate) fn withdraw(&self, seat: u32) -> Withdrawal {
        // Ordering: Relaxed: either this or the claim comes first; the value itself is read through the slot.
        match self.0.fetch_and(!waiting(seat), Ordering::Relaxed) & waiting(seat) {
            0 => Withdrawal::TooLate,
            _ => Withdrawal::Done,
        }
    }

    /// Returns whether a sender has claimed the seat, which must have been offered.
    pub(crate) fn is_claimed(&self, seat: u32) -> bool {
        // Ordering: Relaxed, as in `withdraw`.
        self.0.load(Ordering::Relaxed) & waiting(seat) == 0
    }

    /// Returns whether the seat, which must have been offered, has been claimed and then woken.
    ///
    /// Everything before the wake happens before the return.
    pub(crate) fn is_woken(&self, seat: u32) -> bool {
        // Ordering: Acquire pairs with the Release of the taker of the pending wake.
        self.0.load(Ordering::Acquire) & (waiting(seat) | pending(seat)) == 0
    }

    /// Claims the waiting seat named by `choose`, which gets the mask of the waiting seats; the mask is not 0.
    ///
    /// The caller must put a value into the slot at once. Its wake is pending then, for a later `take_pending`.
    /// `choose` is called again if the seats have changed before the claim.
    #[inline]
    #[must_use = "a claimed seat waits for its value"]
    pub(crate) fn claim(&self, choose: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let mut chosen = None;
        let next = |state| {
            chosen = match state as u32 {
                0 => None,
                all => choose(all),
            };
            let seat = chosen?;
            debug_assert!(state & waiting(seat) != 0, "a seat that waits is chosen");
            Some(state & !waiting(seat) | pending(seat))
        };
        // Ordering: Acquire pairs with the Release in `offer`. Relaxed on failure: the exchange decides.
        _ = self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, next);
        chosen
    }

    /// Takes all pending wakes; the caller must wake these seats.
    #[inline]
    #[must_use = "no other thread will wake these seats"]
    pub(crate) fn take_pending(&self) -> u32 {
        // Ordering: Relaxed: the caller sees its own claims; claims of other threads may be missed.
        if self.0.load(Ordering::Relaxed) >> PENDING == 0 {
            return 0;
        }
        // Ordering: Release pairs with the Acquire in `is_woken`. The slots publish their content themselves.
        (self.0.fetch_and(u64::from(u32::MAX), Ordering::Release) >> PENDING) as u32
    }

    /// Takes the pending wake of a seat; `true` if there was a wake.
    ///
    /// Then the caller must wake the receiver, or is the receiver and has its value.
    #[inline]
    pub(crate) fn take_pending_of(&self, seat: u32) -> bool {
        // Ordering: the load is Relaxed: a thread that has the value sees the claim before it. The exchange decides
        // between the receiver and a waking thread; its Release pairs with the Acquire in `is_woken`.
        self.0.load(Ordering::Relaxed) & pending(seat) != 0
            && self.0.fetch_and(!pending(seat), Ordering::Release) & pending(seat) != 0
    }

    /// Returns the number of waiting seats.
    pub(crate) fn waiting(&self) -> u32 {
        // Ordering: Relaxed: a count that may be out of date on return.
        (self.0.load(Ordering::Relaxed) as u32).count_ones()
    }
}

/// Returns the bit `waiting` of a seat.
fn waiting(seat: u32) -> u64 {
    debug_assert!(seat < ParkerGroup::SEATS);
    1 << seat
}

/// Returns the bit `pending` of a seat.
fn pending(seat: u32) -> u64 {
    waiting(seat) << PENDING
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    fn lowest(waiting: u32) -> Option<u32> {
        Some(waiting.trailing_zeros())
    }

    #[test]
    fn the_chosen_seat_is_claimed_and_no_other() {
        let state = GroupState::default();
        [1, 3].into_iter().for_each(|seat| state.offer(seat));
        let highest = |all: u32| {
            assert_eq!(all, 0b1010, "only these wait");
            all.checked_ilog2()
        };
        assert_eq!(state.claim(highest), Some(3));
        assert_eq!(state.claim(|_| None), None);
        assert_eq!(state.waiting(), 1);
        assert_eq!(state.claim(lowest), Some(1));
        assert_eq!(state.claim(|_| unreachable!("none waits")), None);
    }

    #[test]
    fn a_seat_is_woken_after_its_pending_wake() {
        let state = GroupState::default();
        state.offer(2);
        assert!(!state.is_woken(2), "it waits");
        assert_eq!(state.claim(lowest), Some(2));
        assert!(!state.is_woken(2), "its wake is pending");
        assert_eq!(state.take_pending(), 0b100);
        assert!(state.is_woken(2));
    }

    #[test]
    fn the_last_seat_can_be_offered_and_woken() {
        let state = GroupState::default();
        state.offer(31);
        assert_eq!(state.waiting(), 1);
        assert_eq!(state.claim(lowest), Some(31));
        assert!(state.is_claimed(31));
        assert_eq!(state.withdraw(31), Withdrawal::TooLate);
        assert_eq!(state.take_pending(), 1 << 31);
        assert_eq!(state.take_pending(), 0);
        assert!(!state.take_pending_of(31));
    }

    #[test]
    fn taking_wakes_leaves_waiting_seats_alone() {
        let state = GroupState::default();
        (0..32).for_each(|seat| state.offer(seat));
        assert_eq!(state.claim(lowest), Some(0));
        assert_eq!(state.take_pending(), 1);
        assert_eq!(state.waiting(), 31);
        assert_eq!(state.withdraw(1), Withdrawal::Done);
        assert_eq!(state.waiting(), 30);
    }
}
