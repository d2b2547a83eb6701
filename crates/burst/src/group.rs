//! A group of 32 seats: their state, their slots and their parkers.

use std::sync::Arc;

use brigade_sync::OnceLock;
use brigade_sync::atomic::{AtomicU32, Ordering};
use brigade_sync::{CachePadded, ParkerGroup, hint};

use crate::slot::Slot;
use crate::state::{GroupState, Withdrawal};

/// The number of seats of a group.
const SEATS: u32 = ParkerGroup::SEATS;

/// The seats reached by one system call. A seat is the number of a receiver in its group.
pub(crate) struct Group<T> {
    /// Which receivers wait, and for which a wake is pending.
    state: CachePadded<GroupState>,
    /// The means of blocking the receivers.
    parkers: CachePadded<ParkerGroup>,
    /// A bit for each seat with a receiver.
    taken: AtomicU32,
    /// Where values are handed over, by seat; each on separate cache lines, as each has another thread.
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
        let next = |taken: u32| {
            let seat = taken.trailing_ones();
            (seat < SEATS).then(|| taken | 1 << seat)
        };
        // Ordering: Acquire pairs with the Release in `release_seat`: the former receiver is done with the seat. Relaxed on
        // failure: the exchange decides.
        let before = self.taken.fetch_update(Ordering::Acquire, Ordering::Relaxed, next).ok();
        before.map(u32::trailing_ones)
    }

    /// Releases a seat, which must be neither offered nor claimed.
    pub(crate) fn release_seat(&self, seat: u32) {
        // A left-over token would end the next receiver's first park early. A token that comes later does.
        self.parkers.try_take(seat);
        // Ordering: Release pairs with the Acquire in `take_seat`.
        self.taken.fetch_and(!(1 << seat), Ordering::Release);
    }

    /// Hands a value to a waiting receiver, whose wake is then pending; returns its seat.
    ///
    /// An awake receiver is preferred, and of these the receiver with the lowest seat.
    #[inline]
    pub(crate) fn dispatch(&self, value: T) -> Result<u32, T> {
        self.dispatch_to(value, |waiting| Some(awake_first(waiting, self.parkers.asleep())))
    }

    /// Hands a value to the waiting receiver with the lowest seat from `from` on; as `dispatch` otherwise.
    pub(crate) fn dispatch_from(&self, from: u32, value: T) -> Result<u32, T> {
        self.dispatch_to(value, |waiting| lowest_from(waiting, from))
    }

    /// Hands a value to the waiting receiver named by `choose`, which gets the mask of the waiting seats.
    #[inline]
    fn dispatch_to(&self, value: T, choose: impl Fn(u32) -> Option<u32>) -> Result<u32, T> {
        let Some(seat) = self.state.claim(choose) else {
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

    /// Wakes a receiver if its wake is pending.
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

    /// Takes the value handed to the seat.
    #[inline]
    pub(crate) fn receive(&self, seat: u32) -> Option<T> {
        let value = self.slot(seat).take()?;
        // The receiver is awake, so no wake is needed any more. If a wake is just happening, the next park ends early, once.
        self.state.take_pending_of(seat);
        Some(value)
    }

    /// Takes the value handed to the offered seat; waits for it if a sender has claimed the seat.
    #[inline]
    pub(crate) fn receive_if_claimed(&self, seat: u32) -> Option<T> {
        match self.receive(seat) {
            None if self.state.is_claimed(seat) => Some(self.await_value(seat)),
            value => value,
        }
    }

    /// Takes the value handed to the offered seat, if it has been woken for; waits for it if it is just being handed
    /// over. A separate function, so the usual delivery has none of this code.
    #[inline(never)]
    pub(crate) fn receive_woken(&self, seat: u32) -> Option<T> {
        self.state.is_woken(seat).then(|| self.await_value(seat))
    }

    /// Ends the offer of the seat; returns the value if a sender had claimed it.
    pub(crate) fn withdraw(&self, seat: u32) -> Option<T> {
        match self.state.withdraw(seat) {
            Withdrawal::Done => None,
            Withdrawal::TooLate => Some(self.await_value(seat)),
        }
    }

    /// Ends the offer of the seat, unless a sender has claimed it: then a value is in the slot or about to be.
    pub(crate) fn try_withdraw(&self, seat: u32) -> Withdrawal {
        self.state.withdraw(seat)
    }

    /// Waits for the value of a claimed seat.
    ///
    /// The wait takes a few instructions of the sender, or as long as it is preempted there.
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

    /// Returns the means of blocking the receivers.
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

/// Returns the lowest of the awake waiting seats, or the lowest waiting seat if none is awake.
#[inline]
fn awake_first(waiting: u32, asleep: u32) -> u32 {
    let awake = waiting & !asleep;
    if awake != 0 { awake } else { waiting }.trailing_zeros()
}

/// Returns the lowest waiting seat from `from` on, which must be a seat.
fn lowest_from(waiting: u32, from: u32) -> Option<u32> {
    let waiting = waiting & (u32::MAX << from);
    (waiting != 0).then(|| waiting.trailing_zeros())
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_awake_seat_is_chosen_before_a_sleeper() {
        assert_eq!(awake_first(0b1111, 0b0011), 2);
        assert_eq!(awake_first(0b0011, 0b1111), 0);
        assert_eq!(awake_first(1 << 31, 0), 31);
    }

    #[test]
    fn the_lowest_seat_after_a_given_one_is_chosen() {
        assert_eq!(lowest_from(0b1011, 0), Some(0));
        assert_eq!(lowest_from(0b1011, 2), Some(3));
        assert_eq!(lowest_from(0b1011, 4), None);
        assert_eq!(lowest_from(u32::MAX, 31), Some(31));
    }

    /// Returns a group with a value handed to a seat.
    fn dispatched() -> (Group<u32>, u32) {
        let group = Group::new();
        let seat = group.take_seat().unwrap();
        group.offer(seat);
        assert_eq!(group.dispatch(7), Ok(seat));
        (group, seat)
    }

    #[test]
    fn a_receiver_with_its_value_is_not_woken() {
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
    fn a_late_token_misses_the_next_receiver() {
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
