//! Thirty-two seats: their board, their slots, and what their threads sleep on.

use std::sync::{Arc, OnceLock};

use brigade_sync::atomic::{AtomicU32, Ordering};
use brigade_sync::{CachePadded, ParkerGroup, hint};

use crate::board::{Board, Withdrawal};
use crate::slot::Slot;

/// How many seats a group has.
const SEATS: u32 = ParkerGroup::SEATS;

/// The seats that one system call reaches.
pub(crate) struct Group<T> {
    /// Who waits and who is to be rung for.
    board: CachePadded<Board>,
    /// What the receivers sleep on.
    parkers: CachePadded<ParkerGroup>,
    /// A bit for each seat that a receiver has.
    taken: AtomicU32,
    /// Where values are handed over, by seat; each alone on its line, as each has another thread.
    slots: Box<[CachePadded<Slot<T>>]>,
    /// The group behind this one; appended when all seats are taken, gone with the channel.
    pub(crate) next: OnceLock<Arc<Group<T>>>,
}

impl<T> Group<T> {
    pub(crate) fn new() -> Self {
        Self {
            board: CachePadded::new(Board::default()),
            parkers: CachePadded::new(ParkerGroup::new()),
            taken: AtomicU32::new(0),
            slots: (0..SEATS).map(|_| CachePadded::new(Slot::new())).collect(),
            next: OnceLock::new(),
        }
    }

    /// Gives a seat to a receiver; `None` if all are taken.
    pub(crate) fn sit(&self) -> Option<u32> {
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let seat = taken.trailing_ones();
            if seat >= SEATS {
                return None;
            }
            let more = taken | 1 << seat;
            // Ordering: Acquire pairs with the Release in `stand_up`: the seat is as new.
            match self.taken.compare_exchange_weak(
                taken,
                more,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(seat),
                Err(now) => taken = now,
            }
        }
    }

    /// Gives a seat back that is neither offered nor claimed.
    pub(crate) fn stand_up(&self, seat: u32) {
        // A token that was meant for us would cost the next one a look. One that comes later does.
        self.parkers.try_take(seat);
        // Ordering: Release pairs with the Acquire in `sit`.
        self.taken.fetch_and(!(1 << seat), Ordering::Release);
    }

    /// Hands a value to a receiver that waits, and returns its seat. Rings no bell.
    #[inline]
    pub(crate) fn hand_over(&self, value: T) -> Result<u32, T> {
        let Some(seat) = self.board.claim(|| self.parkers.asleep()) else {
            return Err(value);
        };
        // No user code from the claim to here: the receiver may be waiting for the value.
        match self.slot(seat).put(value) {
            Ok(()) => Ok(seat),
            Err(_) => unreachable!("a seat is offered with an empty slot, and claimed once"),
        }
    }

    /// Rings for all who have been handed something; returns how many of them slept.
    #[inline]
    pub(crate) fn ring(&self) -> u32 {
        match self.board.take_bells() {
            0 => 0,
            seats => self.parkers.unpark(seats).count_ones(),
        }
    }

    /// Rings for one who has been handed something, unless that has been done.
    pub(crate) fn ring_for(&self, seat: u32) {
        if self.board.take_bell(seat) {
            self.parkers.unpark(1 << seat);
        }
    }

    /// Gets everybody to look.
    pub(crate) fn ring_for_all(&self) {
        self.parkers.unpark(u32::MAX >> (32 - SEATS));
    }

    /// The seat may be handed a value from now on. Its slot is empty.
    pub(crate) fn offer(&self, seat: u32) {
        self.board.offer(seat);
    }

    /// Takes what has been handed to the seat.
    #[inline]
    pub(crate) fn pick_up(&self, seat: u32) -> Option<T> {
        let value = self.slot(seat).take()?;
        // We are awake: nobody need ring any more. If somebody just does, the next park returns once for nothing.
        self.board.take_bell(seat);
        Some(value)
    }

    /// Takes what has been handed to the seat, which is offered; waits for it if the sender is at it.
    #[inline]
    pub(crate) fn pick_up_if_claimed(&self, seat: u32) -> Option<T> {
        match self.pick_up(seat) {
            None if self.board.is_claimed(seat) => Some(self.await_value(seat)),
            value => value,
        }
    }

    /// Ends the offer of the seat; returns the value if a sender was quicker.
    pub(crate) fn withdraw(&self, seat: u32) -> Option<T> {
        match self.board.withdraw(seat) {
            Withdrawal::Done => None,
            Withdrawal::TooLate => Some(self.await_value(seat)),
        }
    }

    /// Waits for the value of a seat that has been claimed: a few instructions of the sender, and as long as it is off
    /// the processor if it lost that just there.
    fn await_value(&self, seat: u32) -> T {
        let mut round = 0;
        loop {
            if let Some(value) = self.pick_up(seat) {
                return value;
            }
            hint::snooze(round);
            round = round.saturating_add(1);
        }
    }

    /// Whether a value lies in the seat's slot.
    pub(crate) fn has_value(&self, seat: u32) -> bool {
        self.slot(seat).is_full()
    }

    /// What the threads sleep on.
    pub(crate) fn parkers(&self) -> &ParkerGroup {
        &self.parkers
    }

    /// How many receivers wait.
    pub(crate) fn waiting(&self) -> usize {
        self.board.waiting() as usize
    }

    fn slot(&self, seat: u32) -> &Slot<T> {
        &self.slots[seat as usize]
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    /// A group with a seat that has been handed a value.
    fn handed_over() -> (Group<u32>, u32) {
        let group = Group::new();
        let seat = group.sit().unwrap();
        group.offer(seat);
        assert_eq!(group.hand_over(7), Ok(seat));
        (group, seat)
    }

    #[test]
    fn nobody_rings_for_a_receiver_that_has_its_value_already() {
        let (group, seat) = handed_over();
        assert_eq!(group.pick_up(seat), Some(7));
        group.ring();
        group.ring_for(seat);
        assert!(!group.parkers().try_take(seat));
    }

    #[test]
    fn each_value_is_rung_for_once() {
        let (group, seat) = handed_over();
        group.ring();
        assert!(group.parkers().try_take(seat));
        group.ring();
        group.ring_for(seat);
        assert!(!group.parkers().try_take(seat));
        assert_eq!(group.pick_up(seat), Some(7));
    }

    #[test]
    fn a_token_that_came_too_late_does_not_disturb_the_next_on_the_seat() {
        let (group, seat) = handed_over();
        group.ring();
        assert_eq!(group.withdraw(seat), Some(7));
        group.stand_up(seat);
        assert_eq!(group.sit(), Some(seat));
        assert!(!group.parkers().try_take(seat));
    }

    #[test]
    fn there_are_as_many_seats_as_bits() {
        let group = Group::<u32>::new();
        let seats: Vec<_> = std::iter::from_fn(|| group.sit()).collect();
        assert!(seats.into_iter().eq(0..SEATS));
        group.stand_up(17);
        assert_eq!((group.sit(), group.sit()), (Some(17), None));
    }
}
