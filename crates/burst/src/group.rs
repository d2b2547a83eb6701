//! A group of 32 seats: their state, their slots and their parkers.

use std::sync::{Arc, OnceLock};

use brigade_sync::atomic::{AtomicU32, Ordering};
use brigade_sync::{CachePadded, ParkerGroup, hint};

use crate::slot::Slot;
use crate::state::{GroupState, Withdrawal};

/// The number of seats of a group.
const SEATS: u32 = ParkerGroup::SEATS;

/// The seats that one system call reaches. A seat is the number of a receiver in its group.
pub(crate) struct Group<T> {
    /// Which receivers wait, and for which a wake is pending.
    state: CachePadded<GroupState>,
    /// What blocks the receivers.
    parkers: CachePadded<ParkerGroup>,
    /// A bit for each seat that has a receiver.
    taken: AtomicU32,
    /// Where values are handed over, by seat; each on its own cache lines, as each has another thread.
    slots: Box<[CachePadded<Slot<T>>]>,
    /// The next group, appended when all seats are taken, freed with the channel.
    pub(crate) next: OnceLock<Arc<Group<T>>>,
}

impl<T> Group<T> {
    pub(crate) fn new() -> Self {
        Self {
            state: CachePadded::new(GroupState::default()),
            parkers: CachePadded::new(ParkerGroup::new()),
            taken: AtomicU32::new(0),
            slots: (0..SEATS).map(|_| CachePadded::new(Slot::new())).collect(),
            next: OnceLock::new(),
        }
    }

    /// Takes a seat for a receiver; `None` if all are taken.
    pub(crate) fn take_seat(&self) -> Option<u32> {
        // Ordering: Relaxed: the exchange decides.
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let seat = taken.trailing_ones();
            if seat >= SEATS {
                return None;
            }
            let more = taken | 1 << seat;
            // Ordering: Acquire pairs with the Release in `release_seat`: the former receiver is done with the seat.
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

    /// Releases a seat, which must be neither offered nor claimed.
    pub(crate) fn release_seat(&self, seat: u32) {
        // A left-over token would end the next receiver's first park early. One that comes later does.
        self.parkers.try_take(seat);
        // Ordering: Release pairs with the Acquire in `take_seat`.
        self.taken.fetch_and(!(1 << seat), Ordering::Release);
    }

    /// Hands a value to a waiting receiver, whose wake is then pending; returns its seat.
    #[inline]
    pub(crate) fn dispatch(&self, value: T) -> Result<u32, T> {
        let Some(seat) = self.state.claim(|| self.parkers.asleep()) else {
            return Err(value);
        };
        // No user code from the claim to here: the receiver may be waiting for the value.
        match self.slot(seat).put(value) {
            Ok(()) => Ok(seat),
            Err(_) => unreachable!("a seat is offered with an empty slot, and claimed once"),
        }
    }

    /// Wakes all receivers whose wake is pending; returns how many of them were asleep.
    #[inline]
    pub(crate) fn wake(&self) -> u32 {
        match self.state.take_pending() {
            0 => 0,
            seats => self.parkers.unpark(seats).count_ones(),
        }
    }

    /// Wakes one receiver if its wake is pending.
    pub(crate) fn wake_seat(&self, seat: u32) {
        if self.state.take_pending_of(seat) {
            self.parkers.unpark(1 << seat);
        }
    }

    /// Wakes all receivers of the group.
    pub(crate) fn wake_all(&self) {
        self.parkers.unpark(u32::MAX >> (32 - SEATS));
    }

    /// Offers the seat, whose slot is empty: it may be handed a value from now on.
    pub(crate) fn offer(&self, seat: u32) {
        self.state.offer(seat);
    }

    /// Takes the value that has been handed to the seat.
    #[inline]
    pub(crate) fn receive(&self, seat: u32) -> Option<T> {
        let value = self.slot(seat).take()?;
        // The receiver is awake, so no wake is needed any more. If one is just happening, the next park ends early, once.
        self.state.take_pending_of(seat);
        Some(value)
    }

    /// Takes the value that has been handed to the offered seat; waits for it if a sender has claimed the seat.
    #[inline]
    pub(crate) fn receive_if_claimed(&self, seat: u32) -> Option<T> {
        match self.receive(seat) {
            None if self.state.is_claimed(seat) => Some(self.await_value(seat)),
            value => value,
        }
    }

    /// Ends the offer of the seat; returns the value if a sender had claimed it.
    pub(crate) fn withdraw(&self, seat: u32) -> Option<T> {
        match self.state.withdraw(seat) {
            Withdrawal::Done => None,
            Withdrawal::TooLate => Some(self.await_value(seat)),
        }
    }

    /// Waits for the value of a claimed seat.
    ///
    /// That takes a few instructions of the sender, or as long as it is preempted there.
    fn await_value(&self, seat: u32) -> T {
        let mut round = 0;
        loop {
            if let Some(value) = self.receive(seat) {
                return value;
            }
            hint::snooze(round);
            round = round.saturating_add(1);
        }
    }

    /// Returns whether the seat's slot holds a value.
    pub(crate) fn has_value(&self, seat: u32) -> bool {
        self.slot(seat).is_full()
    }

    /// Returns what blocks the receivers.
    pub(crate) fn parkers(&self) -> &ParkerGroup {
        &self.parkers
    }

    /// Returns the number of waiting receivers.
    pub(crate) fn waiting(&self) -> usize {
        self.state.waiting() as usize
    }

    fn slot(&self, seat: u32) -> &Slot<T> {
        &self.slots[seat as usize]
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    /// Returns a group with a seat that has been handed a value.
    fn dispatched() -> (Group<u32>, u32) {
        let group = Group::new();
        let seat = group.take_seat().unwrap();
        group.offer(seat);
        assert_eq!(group.dispatch(7), Ok(seat));
        (group, seat)
    }

    #[test]
    fn a_receiver_that_has_its_value_is_not_woken() {
        let (group, seat) = dispatched();
        assert_eq!(group.receive(seat), Some(7));
        group.wake();
        group.wake_seat(seat);
        assert!(!group.parkers().try_take(seat));
    }

    #[test]
    fn each_value_is_woken_for_once() {
        let (group, seat) = dispatched();
        group.wake();
        assert!(group.parkers().try_take(seat));
        group.wake();
        group.wake_seat(seat);
        assert!(!group.parkers().try_take(seat));
        assert_eq!(group.receive(seat), Some(7));
    }

    #[test]
    fn a_late_token_does_not_reach_the_next_receiver_of_the_seat() {
        let (group, seat) = dispatched();
        group.wake();
        assert_eq!(group.withdraw(seat), Some(7));
        group.release_seat(seat);
        assert_eq!(group.take_seat(), Some(seat));
        assert!(!group.parkers().try_take(seat));
    }

    #[test]
    fn there_are_as_many_seats_as_bits() {
        let group = Group::<u32>::new();
        let seats: Vec<_> = std::iter::from_fn(|| group.take_seat()).collect();
        assert!(seats.into_iter().eq(0..SEATS));
        group.release_seat(17);
        assert_eq!((group.take_seat(), group.take_seat()), (Some(17), None));
    }
}
